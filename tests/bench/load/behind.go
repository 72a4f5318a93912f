package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// frontArguments are kube-apiserver's, with what it needs to be in front of others.
func frontArguments(executable string, f *folder, port int, etcd string) []string {
	return append(kubeArguments(executable, f, port, etcd), "--requestheader-client-ca-file="+f.file("ca.crt"),
		"--requestheader-allowed-names="+frontProxy, "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+f.file(frontProxy+".crt"), "--proxy-client-key-file="+f.file(frontProxy+".key"))
}

// behindArguments are those of aggregated API servers, ours included.
func behindArguments(executable string, f *folder, port int, etcd string) []string {
	return []string{executable, "--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + f.file("server.crt"), "--tls-private-key-file=" + f.file("server.key"),
		"--client-ca-file=" + f.file("ca.crt"), "--kubeconfig=" + f.file("kubeconfig"),
		"--authentication-kubeconfig=" + f.file("kubeconfig"), "--authorization-kubeconfig=" + f.file("kubeconfig")}
}

func annalsBehindArguments(executable string, f *folder, port int, etcd string) []string {
	argv := behindArguments(executable, f, port, etcd)
	return append([]string{executable, "serve"}, argv[1:]...)
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: "https://%s", certificate-authority: %s}}]
users: [{name: bench, user: {token: %s}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`

// startBehind starts a kube-apiserver and the servers behind it, each with an etcd of its own.
func (b *bench) startBehind(p *programs) (err error) {
	if p.kube == "" {
		return nil
	}
	b.cluster, err = newSubject(b.folder, "kube-apiserver", p.kube, p.etcd, frontArguments, nil)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(kubeconfig, b.cluster.host, b.folder.file("ca.crt"), b.folder.token)
	if err = b.folder.write("kubeconfig", []byte(text)); err != nil {
		return err
	}
	if err = b.cluster.makeRole(&revisions, &flunders); err != nil {
		return err
	}
	for _, of := range []struct {
		name, executable string
		kind             *kind
		arguments        arguments
	}{{"annals", p.annals, &revisions, annalsBehindArguments}, {"sample-apiserver", p.sample, &flunders, behindArguments}} {
		if of.executable == "" {
			continue
		}
		s, err := newSubject(b.folder, of.name, of.executable, p.etcd, of.arguments, func(s *subject) {
			s.kind, s.spaced = of.kind, b.cluster
			s.tls = b.folder.front
			s.headers = []string{"X-Remote-User: bench", "X-Remote-Group: system:masters"}
		})
		if err != nil {
			return err
		}
		b.subjects = append(b.subjects, s)
		if err := b.register(s); err != nil {
			return err
		}
	}
	return nil
}

// makeRole lets user "plain" do with objects of some kinds what workloads do.
func (s *subject) makeRole(kinds ...*kind) error {
	const role = `"apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"bench"}`
	rules := ""
	for _, k := range kinds {
		rules += fmt.Sprintf(`{"apiGroups":["%s"],"resources":["%s"],"verbs":["get","list","watch","create"]},`, k.group(), k.resource)
	}
	for path, body := range map[string]string{
		"clusterroles": `{"kind":"ClusterRole",` + role + `,"rules":[` + rules[:len(rules)-1] + `]}`,
		"clusterrolebindings": `{"kind":"ClusterRoleBinding",` + role +
			`,"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"bench"},` +
			`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"plain"}]}`,
	} {
		if _, err := s.one(201, &request{method: "POST", path: "/apis/rbac.authorization.k8s.io/v1/" + path, body: []byte(body)}); err != nil {
			return err
		}
	}
	return nil
}

// register makes a subject known to the kube-apiserver in front of it, and waits until it answers through that.
func (b *bench) register(s *subject) error {
	group, version := s.kind.group(), s.kind.version()
	_, port, _ := strings.Cut(s.host, ":")
	text, err := os.ReadFile(b.folder.file("ca.crt"))
	if err != nil {
		return err
	}
	ca := base64.StdEncoding.EncodeToString(text)
	for _, r := range []struct{ path, body string }{
		{"/api/v1/namespaces/default/services", fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"%s"},`+
			`"spec":{"type":"ExternalName","externalName":"localhost"}}`, s.name)},
		{"/apis/apiregistration.k8s.io/v1/apiservices", fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",`+
			`"metadata":{"name":"%s.%s"},"spec":{"group":"%s","version":"%s","groupPriorityMinimum":1000,"versionPriority":15,`+
			`"caBundle":"%s","service":{"name":"%s","namespace":"default","port":%s}}}`, version, group, group, version, ca, s.name, port)},
	} {
		if _, err := b.cluster.one(201, &request{method: "POST", path: r.path, body: []byte(r.body)}); err != nil {
			return err
		}
	}
	return b.through(s).await(s.collection("default") + "?limit=1")
}

// through is the same subject, reached through the kube-apiserver in front of it.
func (b *bench) through(s *subject) *subject {
	out := *s
	out.route = b.cluster.route
	out.proxy = b.cluster.server
	return &out
}

// hop measures what an action costs through the kube-apiserver.
func (b *bench) hop(of action) action {
	return func(s *subject) (*sample, error) { return of(b.through(s)) }
}

// plainly does so for a user whose rights are not in the request: both servers have to ask about each object.
func (b *bench) plainly(of action) action {
	return func(s *subject) (*sample, error) {
		out := b.through(s)
		out.headers = b.folder.bearer(b.folder.plain)
		return of(out)
	}
}

// getLoop is get for connections that this program serves by itself: wrk shows no certificate.
func (b *bench) getLoop(connections int, query string) action {
	return func(s *subject) (*sample, error) {
		return b.readLoop(s, connections, someOf(manyObjects, func(i int) string { return s.path(manySpace, i) + query }))
	}
}

func (b *bench) listLoop(s *subject) (*sample, error) {
	return b.readLoop(s, 4, []string{s.collection(fewSpace)})
}

func (b *bench) readLoop(s *subject, connections int, paths []string) (*sample, error) {
	all, err := dialMany(s, connections)
	if err != nil {
		return nil, err
	}
	defer all.close()
	next := make([]int, len(all))
	return closedLoop(s, all, b.warm, b.length, func(w int, c *client) (int, error) {
		next[w]++
		body, err := c.must(200, &request{method: "GET", path: paths[(w*len(paths)/len(all)+next[w])%len(paths)]})
		return len(body), err
	}), nil
}

// startDiscovering restarts the server until it answers what kube-apiserver asks first.
func (b *bench) startDiscovering(s *subject) (*sample, error) {
	s.server.stop()
	ms, err := s.start("/apis/" + s.kind.groupVersion)
	if err != nil {
		return nil, err
	}
	out := newSample()
	out.Values[firstAnswer] = ms[0]
	out.Values[startCPU] = float64(cpuTime(s.server.pid())) / 1e6
	if err := s.await("/readyz"); err != nil {
		return nil, err
	}
	b.settle()
	now, peak := memory(s.server.pid())
	out.Values[memoryNow], out.Values[memoryTop] = float64(now)/1024, float64(peak)/1024
	// kube-apiserver has noticed that the server was away, and looks only now and then whether it is back.
	return out, b.through(s).await(s.collection("default") + "?limit=1")
}

func (b *bench) planBehind() []stage {
	const watchers = 100
	createOne := func(connections int) action {
		return b.write("create", writing{connections: connections, step: create(data1k)})
	}
	watch := b.watch(watchers, b.events, 20)
	return []stage{
		{nil, []workload{{"hop.start", b.startDiscovering}}},
		{b.fillForReads, []workload{
			{"hop.get1k.c1", b.hop(b.getLoop(1, ""))},
			{"hop.get1k.c16", b.hop(b.getLoop(16, ""))},
			{"hop.get1k.c64", b.hop(b.getLoop(64, ""))},
			{"hop.get1k.c64.plain", b.plainly(b.getLoop(64, ""))},
			{"hop.list500", b.hop(b.listLoop)},
			{"direct.get1k.c64", b.getLoop(64, "")},
			{"direct.list500", b.listLoop},
		}},
		{nil, []workload{
			{"hop.create1k.c16", b.hop(createOne(16))},
			{"hop.create1k.c64", b.hop(createOne(64))},
			{"hop.create1k.c64.plain", b.plainly(createOne(64))},
			{"direct.create1k.c64", createOne(64)},
			{"hop.watch" + strconv.Itoa(watchers), b.hop(watch)},
			{"direct.watch" + strconv.Itoa(watchers), watch},
		}},
	}
}

func (b *bench) rowsBehind() []row {
	return []row{
		{"hop.get1k.c1", serverCPU, 0, 8},
		{"hop.get1k.c1", rate, 0, 0},
		{"hop.get1k.c16", serverCPU, 0, 8},
		{"hop.get1k.c16", rate, 0, 1.7},
		{"hop.get1k.c64", serverCPU, 0, 8},
		{"hop.get1k.c64", proxyCPU, 0, 0},
		{"hop.get1k.c64", rate, 0, 1.7},
		{"hop.get1k.c64.plain", serverCPU, 0, 8},
		{"hop.get1k.c64.plain", rate, 0, 1.7},
		{"hop.list500", serverCPU, 0, 8},
		{"hop.list500", rate, 0, 0},
		{"hop.create1k.c16", serverCPU, 0, 8},
		{"hop.create1k.c16", rate, 0, 2.4},
		{"hop.create1k.c64", serverCPU, 0, 8},
		{"hop.create1k.c64", proxyCPU, 0, 0},
		{"hop.create1k.c64", rate, 0, 2.4},
		{"hop.create1k.c64.plain", serverCPU, 0, 8},
		{"hop.create1k.c64.plain", rate, 0, 2.4},
		{"hop.watch100", serverCPU, 0, 0},
		{"hop.watch100", proxyCPU, 0, 0},
		{"direct.get1k.c64", serverCPU, 0, 8},
		{"direct.list500", serverCPU, 0, 8},
		{"direct.create1k.c64", serverCPU, 0, 8},
		{"direct.watch100", serverCPU, 0, 0},
		{"hop.start", firstAnswer, 0, 0},
		{"hop.start", memoryNow, 0, 0},
	}
}
