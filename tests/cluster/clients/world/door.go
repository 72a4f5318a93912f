package world

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"

	"k8s.io/client-go/rest"
)

// doorOf has the clients of a configuration go where $CLIENTS_DOOR says ("annals.dev/v1", say) when they ask for ControllerRevisions of
// apps/v1, and takes what is said there for said of apps/v1. So tests of typed clients are tests of a group that has no typed clients.
func doorOf(config *rest.Config) *rest.Config {
	if isLed() {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &door{next, os.Getenv("CLIENTS_DOOR")} })
	}
	return config
}

func isLed() bool { return os.Getenv("CLIENTS_DOOR") != "" }

type door struct {
	next http.RoundTripper
	name string
}

// References to one ControllerRevision within other objects, in the order of members that client-go writes and servers show.
const owner = `"apiVersion":"%","kind":"ControllerRevision"`

func (d *door) RoundTrip(request *http.Request) (*http.Response, error) {
	isOurs := strings.HasPrefix(request.URL.Path, "/apis/apps/v1/") && strings.Contains(request.URL.Path, "/controllerrevisions")
	request = request.Clone(request.Context())
	if isOurs {
		request.URL.Path = "/apis/" + d.name + strings.TrimPrefix(request.URL.Path, "/apis/apps/v1")
		request.Header["Accept"] = texts(request.Header.Values("Accept"))
	}
	if err := d.rewriteBody(request, isOurs); err != nil {
		return nil, err
	}
	response, err := d.next.RoundTrip(request)
	if err == nil {
		response.Body = &rewritten{body: response.Body, lines: bufio.NewReader(response.Body), rewrite: func(line []byte) []byte { return d.back(line, isOurs) }}
		response.ContentLength = -1
		response.Header.Del("Content-Length")
	}
	return response, err
}

// texts leaves out the forms in which a name cannot be replaced by a longer one.
func texts(accepted []string) []string {
	var left []string
	for _, form := range strings.Split(strings.Join(accepted, ","), ",") {
		if !strings.Contains(form, "protobuf") {
			left = append(left, form)
		}
	}
	return []string{strings.Join(left, ",")}
}

func (d *door) rewriteBody(request *http.Request, isOurs bool) error {
	if request.Body == nil {
		return nil
	}
	body, err := io.ReadAll(request.Body)
	request.Body.Close()
	from, to := strings.ReplaceAll(owner, "%", "apps/v1"), strings.ReplaceAll(owner, "%", d.name)
	if isOurs {
		from, to = "apps/v1", d.name
	}
	body = bytes.ReplaceAll(body, []byte(from), []byte(to))
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body, _ = request.GetBody()
	return err
}

func (d *door) back(line []byte, isOurs bool) []byte {
	if isOurs {
		group, _, _ := strings.Cut(d.name, "/")
		return bytes.ReplaceAll(line, []byte(group), []byte("apps"))
	}
	return bytes.ReplaceAll(line, []byte(strings.ReplaceAll(owner, "%", d.name)), []byte(strings.ReplaceAll(owner, "%", "apps/v1")))
}

// rewritten is an answer or a stream of events, line by line.
type rewritten struct {
	body    io.Closer
	lines   *bufio.Reader
	rewrite func([]byte) []byte
	rest    []byte
	err     error
}

func (r *rewritten) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		var line []byte
		line, r.err = r.lines.ReadBytes('\n')
		r.rest = r.rewrite(line)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, nil
	}
	return n, r.err
}

func (r *rewritten) Close() error { return r.body.Close() }
