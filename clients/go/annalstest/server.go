// Package annalstest starts annals as an API server for tests.
//
//	func TestReconcile(t *testing.T) {
//		server := annalstest.Start(t)
//		c, err := client.New(server.Config, client.Options{})
//		...
//	}
//
// Each server has a port and a directory of its own, so tests may run in parallel. It keeps its objects in memory, and is
// gone with the test, or with the test's process, however that ends.
//
// Environment takes the place of the struct of that name in controller-runtime's envtest.
//
// The program annals is looked for in Options.Binary, in $ANNALS_BIN, and in $PATH.
package annalstest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// BinaryVariable is the environment variable with the path of annals.
	BinaryVariable = "ANNALS_BIN"

	defaultTimeout = 20 * time.Second // envtest's
	readyFD        = 3                // the first of exec.Cmd.ExtraFiles
	lineMax        = 1 << 20          // bytes
	logMax         = 64 << 10         // bytes: the end of the server's log is kept
)

// Options of a server. The zero value is a server in memory.
type Options struct {
	// Binary is the path of annals. Default: $ANNALS_BIN, then "annals" in $PATH.
	Binary string

	// Store is "memory", which is the default and needs nothing, or "etcd", which needs an etcd in $PATH.
	Store string

	// Args are more flags of "annals up": "--fake-nodes=2", for example.
	Args []string

	// Output gets the server's log, too. An error of New, or a failed test of Start, shows its end in any case.
	Output io.Writer

	// StartTimeout is how long a start may take, and StopTimeout how long an end; 20 seconds by default. A server that does not
	// end in time is killed.
	StartTimeout, StopTimeout time.Duration
}

// Server is an annals that runs.
type Server struct {
	// Config is that of an administrator (system:masters), without limits worth mentioning.
	Config *rest.Config

	// KubeConfig is the same for kubectl and others: the content of a file. KubeConfigPath is such a file; it goes with the server.
	KubeConfig     []byte
	KubeConfigPath string

	URL   string
	Token string // the administrator's
	CA    []byte // PEM

	// ClientCertificate and ClientKey are the administrator's as well, PEM.
	ClientCertificate, ClientKey []byte

	// Version is that of annals.
	Version string

	cmd         *exec.Cmd
	log         *tail
	ended       chan struct{} // closed when the process has ended; endError is set before
	endError    error
	stopOnce    sync.Once
	stopError   error
	stopTimeout time.Duration
}

// The line of "annals up --output=json".
type news struct {
	URL               string `json:"url"`
	Token             string `json:"token"`
	CA                string `json:"ca"`
	ClientCertificate string `json:"clientCertificate"`
	ClientKey         string `json:"clientKey"`
	Kubeconfig        string `json:"kubeconfig"`
	Version           string `json:"version"`
}

// Start starts a server for a test and fails the test if it cannot. The server is stopped when the test and all its subtests
// are over. When the test has failed, the end of the server's log is shown.
func Start(t testing.TB, options ...Options) *Server {
	t.Helper()
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		t.Fatal("annalstest.Start: give Options once")
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := s.Stop()
		if t.Failed() && s.Log() != "" {
			t.Logf("the end of annals' log:\n%s", s.Log())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

// New starts a server. Whoever calls it calls Stop.
func New(o Options) (*Server, error) {
	binary, err := findBinary(o.Binary)
	if err != nil {
		return nil, err
	}
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reading.Close()
	s := &Server{log: &tail{also: o.Output}, ended: make(chan struct{}), stopTimeout: orDefault(o.StopTimeout)}
	s.cmd = exec.Command(binary, append([]string{"up", "--ephemeral", "--store=" + storeOf(o), "--output=json", fmt.Sprint("--ready-fd=", readyFD)}, o.Args...)...)
	s.cmd.ExtraFiles = []*os.File{writing}
	s.cmd.Stderr = s.log
	s.cmd.WaitDelay = defaultTimeout // nobody else has its output for long, but a busy machine may take a while to copy it
	err = s.cmd.Start()
	writing.Close()
	if err != nil {
		return nil, fmt.Errorf("annals does not start: %w", err)
	}
	go func() {
		s.endError = s.cmd.Wait()
		close(s.ended)
	}()
	if err := s.attach(reading, orDefault(o.StartTimeout)); err != nil {
		s.kill()
		return nil, fmt.Errorf("%w\n%s", err, s.Log())
	}
	return s, nil
}

func orDefault(d time.Duration) time.Duration {
	if d == 0 {
		return defaultTimeout
	}
	return d
}

func storeOf(o Options) string {
	if o.Store == "" {
		return "memory"
	}
	return o.Store
}

func findBinary(given string) (string, error) {
	for _, path := range []string{given, os.Getenv(BinaryVariable)} {
		if path != "" {
			return path, nil
		}
	}
	path, err := exec.LookPath("annals")
	if err != nil {
		return "", fmt.Errorf("annals is not in $PATH: install it, or say where it is with Options.Binary or $%s", BinaryVariable)
	}
	return path, nil
}

// attach waits for the line, and takes it over.
func (s *Server) attach(reading *os.File, timeout time.Duration) error {
	if err := reading.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(reading, lineMax)).ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("annals is not ready after %s", timeout)
	}
	if err != nil {
		<-s.ended // it has closed its end, which is what its own end begins with
		return fmt.Errorf("annals did not start: %v", s.endError)
	}
	var n news
	if err := json.Unmarshal(line, &n); err != nil {
		return fmt.Errorf("what annals printed is not understood: %w", err)
	}
	kubeconfig, err := os.ReadFile(n.Kubeconfig)
	if err != nil {
		return err
	}
	s.URL, s.Token, s.Version = n.URL, n.Token, n.Version
	s.CA, s.ClientCertificate, s.ClientKey = []byte(n.CA), []byte(n.ClientCertificate), []byte(n.ClientKey)
	s.KubeConfig, s.KubeConfigPath = kubeconfig, n.Kubeconfig
	s.Config = &rest.Config{
		Host:            n.URL,
		BearerToken:     n.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: s.CA},
		QPS:             1000, // envtest's, who does not care about overwhelming a test server either
		Burst:           2000,
	}
	if n.Token == "" { // Args have --token-auth-file
		s.Config.CertData, s.Config.KeyData = s.ClientCertificate, s.ClientKey
	}
	return nil
}

// Log is the end of the server's log: its last 64 KiB.
func (s *Server) Log() string {
	return s.log.String()
}

func (s *Server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// Stop ends the server and removes its files. A second call returns what the first has returned.
func (s *Server) Stop() error {
	s.stopOnce.Do(func() { s.stopError = s.stop() })
	return s.stopError
}

func (s *Server) stop() error {
	select {
	case <-s.ended:
		return fmt.Errorf("annals ended by itself: %v\n%s", s.endError, s.Log())
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(s.stopTimeout):
		s.kill()
		return fmt.Errorf("annals did not end within %s and was killed\n%s", s.stopTimeout, s.Log())
	}
	if s.endError != nil {
		return fmt.Errorf("annals ended with an error: %w\n%s", s.endError, s.Log())
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	also io.Writer
	lock sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*logMax {
		t.text = append([]byte(nil), t.text[len(t.text)-logMax:]...)
	}
	if t.also != nil {
		_, _ = t.also.Write(p) // a log that cannot be shown is no reason to stop the server
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return string(t.text[max(0, len(t.text)-logMax):])
}
