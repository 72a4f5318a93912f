package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// subject is an API server with an etcd of its own.
type subject struct {
	name   string
	kind   *kind
	folder *folder
	etcd   *etcd
	server *process
	route
	argv   []string
	spaced *subject // the server that namespaces are made in: itself, or what it is behind
	prefix string   // of the keys of ControllerRevisions in etcd, once one was found there
	spaces map[string]bool
}

// route is how a subject is reached.
type route struct {
	host    string // address:port
	tls     *tls.Config
	headers []string // that say who asks
	proxy   *process // on the way, or nil
}

// arguments makes a server's command line.
type arguments func(executable string, f *folder, port int, etcd string) []string

func annalsArguments(executable string, f *folder, port int, etcd string) []string {
	return []string{executable, "serve", "--standalone", "--etcd-servers=" + etcd, "--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port), "--tls-cert-file=" + f.file("server.crt"),
		"--tls-private-key-file=" + f.file("server.key"), "--client-ca-file=" + f.file("ca.crt"),
		"--token-auth-file=" + f.file("tokens.csv")}
}

func kubeArguments(executable string, f *folder, port int, etcd string) []string {
	return []string{executable, "--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port), "--tls-cert-file=" + f.file("server.crt"),
		"--tls-private-key-file=" + f.file("server.key"), "--client-ca-file=" + f.file("ca.crt"),
		"--token-auth-file=" + f.file("tokens.csv"), "--service-account-key-file=" + f.file("server.key"),
		"--service-account-signing-key-file=" + f.file("server.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
		"--cert-dir=" + f.path}
}

// newSubject starts one; change, if not nil, alters what is usual before.
func newSubject(f *folder, name, executable, etcdExecutable string, of arguments, change func(*subject)) (*subject, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	e, err := startEtcd(f, etcdExecutable, "etcd-"+name)
	if err != nil {
		return nil, err
	}
	s := &subject{name: name, kind: &appsRevisions, folder: f, etcd: e, spaces: map[string]bool{}, argv: of(executable, f, port, e.url),
		route: route{host: fmt.Sprintf("127.0.0.1:%d", port), tls: f.tls, headers: f.bearer(f.token)}}
	s.spaced = s
	if change != nil {
		change(s)
	}
	if _, err = s.start("/readyz"); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *subject) stop() {
	if s == nil {
		return
	}
	s.server.stop()
	s.etcd.stop()
}

// start starts the server and asks for each path until it is answered 200; returns how long after exec that was, in ms.
func (s *subject) start(paths ...string) (ms []float64, err error) {
	began := time.Now()
	if s.server, err = startProcess(s.name, s.folder.path, s.argv); err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := s.await(path); err != nil {
			return nil, err
		}
		ms = append(ms, float64(time.Since(began).Microseconds())/1e3)
	}
	return ms, nil
}

const answerMax = 10 * time.Minute // with a million objects, on a busy machine

func (s *subject) await(path string) error {
	var c *client
	var err error
	for deadline := time.Now().Add(answerMax); time.Now().Before(deadline) && s.server.isRunning(); {
		if c == nil {
			if c, err = dial(s); err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			defer c.close()
		}
		status, _, err := c.do(&request{method: "GET", path: path})
		if err == nil && status == 200 {
			return nil
		}
		if err != nil {
			c = nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer %s: see %s", s.name, path, s.folder.file(s.name+".log"))
}

func (s *subject) collection(ns string) string {
	return "/apis/" + s.kind.groupVersion + "/namespaces/" + ns + "/" + s.kind.resource
}

func (s *subject) path(ns string, i int) string { return s.collection(ns) + "/" + nameOf(i) }

// one does a single request over a connection of its own.
func (s *subject) one(want int, r *request) ([]byte, error) {
	c, err := dial(s)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.must(want, r)
}

func (s *subject) addNamespace(ns string) error {
	if s.spaced.spaces[ns] {
		return nil
	}
	_, err := s.spaced.one(201, &request{method: "POST", path: "/api/v1/namespaces",
		body: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + ns + `"}}`)})
	s.spaced.spaces[ns] = err == nil
	return err
}

// fill makes sure that objects from..to-1 are in a namespace. One is created through the API, found in etcd and copied there, with
// other names and uids of the same length, and with other data if it is to vary.
func (s *subject) fill(ns string, from, to int, isVaried bool) error {
	return s.fillWith(ns, from, to, isVaried, data1k)
}

func (s *subject) fillWith(ns string, from, to int, isVaried bool, data string) error {
	if from >= to {
		return nil
	}
	if err := s.addNamespace(ns); err != nil {
		return err
	}
	f := fields{name: nameOf(from), group: groupOf(from), seq: "0"}
	answer, err := s.createFirst(ns, &f, data)
	if err != nil {
		return err
	}
	uid := member(answer, "uid")
	if s.prefix == "" {
		if s.prefix, err = s.findPrefix(ns, f.name); err != nil {
			return err
		}
	}
	original, err := s.etcd.get(s.prefix + ns + "/" + f.name)
	if err != nil {
		return err
	}
	err = s.etcd.put(to-from-1, func(j int) keyValue {
		i := from + 1 + j
		text := copyOf(string(original), &f, uid, i)
		if isVaried {
			vary(text, uint64(i+1)*0x9e3779b97f4a7c15)
		}
		return keyValue{[]byte(s.prefix + ns + "/" + nameOf(i)), text}
	})
	if err != nil {
		return err
	}
	return s.await(s.path(ns, to-1) + "?resourceVersion=0")
}

func copyOf(original string, f *fields, uid string, i int) []byte {
	other := fmt.Sprintf("%s%012x", uid[:24], i)
	return []byte(strings.NewReplacer(f.name, nameOf(i), f.group, groupOf(i), uid, other).Replace(original))
}

// createFirst waits until the server has seen the namespace.
func (s *subject) createFirst(ns string, f *fields, data string) (answer []byte, err error) {
	for i := 0; i < 50; i++ {
		answer, err = s.one(201, &request{method: "POST", path: s.collection(ns), body: s.kind.appendObject(nil, ns, f, data)})
		if err == nil {
			return answer, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

func (s *subject) findPrefix(ns, name string) (string, error) {
	keys, err := s.etcd.keys("/")
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		if prefix, ok := strings.CutSuffix(key, ns+"/"+name); ok && strings.Contains(prefix, s.kind.resource) {
			return prefix, nil
		}
	}
	return "", errors.New("the object created is not in etcd")
}

// clear removes what is in a namespace, or with "" in all.
func (s *subject) clear(ns string) error {
	if s.prefix == "" {
		return nil
	}
	if ns != "" {
		ns += "/"
	}
	return s.etcd.clear(s.prefix + ns)
}
