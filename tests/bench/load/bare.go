package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// bareServer is the name of a subject that does nothing for a request but answer it (bare_server.c). What annals costs divided by what
// it costs hardly depends on the machine, and can be compared with that of another day.
const bareServer = "bare"

// compared are the workloads that a bare server can have, and how many bytes each of their requests sends.
var compared = []struct {
	workload *regexp.Regexp
	sends    int
}{
	{regexp.MustCompile(`^(get1k|list500|select10|chunk100|discovery|delete)`), 0},
	{regexp.MustCompile(`^(create1k|put|refused)`), len(data1k) + 300},
	{regexp.MustCompile(`^create10k`), len(data10k) + 300},
	{regexp.MustCompile(`^patch`), 50},
}

func bareArguments(executable string, f *folder, port int, _ string) []string {
	return []string{executable, strconv.Itoa(port), f.file("server.crt"), f.file("server.key")}
}

func (b *bench) startBare(executable string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s := &subject{name: bareServer, etcd: &etcd{}, folder: b.folder, argv: bareArguments(executable, b.folder, port, ""),
		route: route{host: fmt.Sprintf("127.0.0.1:%d", port), tls: b.folder.tls, headers: b.folder.bearer(b.folder.token)}}
	if _, err := s.start("/1"); err != nil {
		return err
	}
	b.bare = s
	return nil
}

var connectionsOf = regexp.MustCompile(`\.c(\d+)`)

// runBare asks the bare server for what annals has answered, if that can be: answers as long, over as many connections.
func (b *bench) runBare(w *workload, of *sample) error {
	if b.bare == nil || of.Subject != "annals" || of.Values[bytesEach] == 0 {
		return nil
	}
	if strings.HasPrefix(w.name, "h2.") {
		out, err := b.bareHTTP2(w.name, of)
		return b.keepBare(w, out, err)
	}
	connections := 4
	if found := connectionsOf.FindStringSubmatch(w.name); found != nil {
		connections, _ = strconv.Atoi(found[1])
	}
	for _, c := range compared {
		if !c.workload.MatchString(w.name) {
			continue
		}
		out, err := b.askBare(connections, c.sends, fmt.Sprintf("/%.0f", of.Values[bytesEach]))
		return b.keepBare(w, out, err)
	}
	return nil
}

func (b *bench) keepBare(w *workload, out *sample, err error) error {
	if err != nil {
		return fmt.Errorf("%s on %s: %w", w.name, bareServer, err)
	}
	if out == nil {
		return nil
	}
	out.Workload, out.Subject = w.name, bareServer
	b.samples = append(b.samples, out)
	progress(out)
	return nil
}

func (b *bench) askBare(connections, sends int, path string) (*sample, error) {
	if sends == 0 {
		return b.readWith(b.bare, connections, "application/json", false, []string{path})
	}
	all, err := dialMany(b.bare, connections)
	if err != nil {
		return nil, err
	}
	defer all.close()
	r := &request{method: "POST", path: path, body: make([]byte, sends)}
	return closedLoop(b.bare, all, b.warm, b.length, func(_ int, c *client) (int, error) {
		body, err := c.must(200, r)
		return len(body), err
	}), nil
}
