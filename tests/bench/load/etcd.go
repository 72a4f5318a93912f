package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// etcd is one server of it, spoken to through its JSON gateway: objects are filled in and cleared away there, behind the API
// server's back, because making a hundred thousand through kube-apiserver takes minutes.
type etcd struct {
	*process
	url    string
	client *http.Client
}

func startEtcd(f *folder, executable, name string) (*etcd, error) {
	client, err := freePort()
	if err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	e := &etcd{url: fmt.Sprintf("http://127.0.0.1:%d", client), client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: fillers}, Timeout: 60 * time.Second}}
	name = fmt.Sprintf("%s-%d", name, client) // a folder that no other etcd of the run has used
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	e.process, err = startProcess(name, f.path, []string{executable, "--name=bench", "--data-dir=" + f.file(name),
		"--listen-client-urls=" + e.url, "--advertise-client-urls=" + e.url,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=bench=" + peerURL,
		"--quota-backend-bytes=8589934592", "--log-level=warn"})
	if err != nil {
		return nil, err
	}
	for i := 0; i < 300 && e.isRunning(); i++ {
		if r, err := e.client.Get(e.url + "/health"); err == nil {
			r.Body.Close()
			if r.StatusCode == 200 {
				return e, nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	e.stop()
	return nil, fmt.Errorf("%s does not get healthy: see %s", name, f.file(name+".log"))
}

func etcdVersion(executable string) string {
	out, _ := exec.Command(executable, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	_, version, _ := strings.Cut(line, ": ")
	return version
}

const (
	fillers  = 8   // requests at once
	fillEach = 100 // writes in one of them; etcd allows 128
)

type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

func (e *etcd) call(path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	r, err := e.client.Post(e.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if r.StatusCode != 200 {
		return fmt.Errorf("etcd: %d %.200s", r.StatusCode, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func prefixEnd(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// keys of all that begins with prefix.
func (e *etcd) keys(prefix string) ([]string, error) {
	var answer struct {
		Kvs []keyValue `json:"kvs"`
	}
	err := e.call("/v3/kv/range", map[string]any{"key": []byte(prefix), "range_end": prefixEnd(prefix), "keys_only": true}, &answer)
	var out []string
	for _, kv := range answer.Kvs {
		out = append(out, string(kv.Key))
	}
	return out, err
}

func (e *etcd) get(key string) ([]byte, error) {
	var answer struct {
		Kvs []keyValue `json:"kvs"`
	}
	if err := e.call("/v3/kv/range", map[string]any{"key": []byte(key)}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Kvs) != 1 {
		return nil, fmt.Errorf("etcd has no %s", key)
	}
	return answer.Kvs[0].Value, nil
}

// inBatches runs transactions of up to fillEach operations, several at once; operation i is made by of(i).
func (e *etcd) inBatches(n int, of func(i int) map[string]any) error {
	var wg sync.WaitGroup
	todo := make(chan int)
	failed := make(chan error, fillers)
	for w := 0; w < fillers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			for from := range todo {
				var operations []any
				for i := from; i < min(n, from+fillEach); i++ {
					operations = append(operations, of(i))
				}
				if err == nil {
					err = e.call("/v3/kv/txn", map[string]any{"success": operations}, nil)
				}
			}
			if err != nil {
				failed <- err
			}
		}()
	}
	for from := 0; from < n; from += fillEach {
		todo <- from
	}
	close(todo)
	wg.Wait()
	close(failed)
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}

func (e *etcd) put(n int, of func(i int) keyValue) error {
	return e.inBatches(n, func(i int) map[string]any { return map[string]any{"request_put": of(i)} })
}

// clear removes key by key: so the API server sees an event for each, as in life.
func (e *etcd) clear(prefix string) error {
	keys, err := e.keys(prefix)
	if err != nil {
		return err
	}
	return e.inBatches(len(keys), func(i int) map[string]any {
		return map[string]any{"request_delete_range": keyValue{Key: []byte(keys[i])}}
	})
}
