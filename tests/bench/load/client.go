package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// request is what a client sends; path includes the query.
type request struct {
	method, path, contentType string
	body                      []byte
	gzip                      bool // take it compressed
}

// client is one connection that carries one request at a time. It is written by hand because net/http costs more than the servers
// that are measured. A body it returns is valid until the next request.
type client struct {
	tls    *tls.Conn
	reader *bufio.Reader
	fixed  string // headers of each request
	out    []byte
	body   []byte
}

func dial(s *subject) (*client, error) {
	conn, err := net.DialTimeout("tcp", s.host, 10*time.Second)
	if err != nil {
		return nil, err
	}
	c := tls.Client(conn, s.tls)
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if err := c.Handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return &client{tls: c, reader: bufio.NewReaderSize(c, 64<<10),
		fixed: "Host: " + s.host + "\r\nAccept: application/json\r\n" + strings.Join(s.headers, "\r\n") + "\r\n"}, nil
}

func dialMany(s *subject, n int) (clients, error) {
	var all clients
	for i := 0; i < n; i++ {
		c, err := dial(s)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

type clients []*client

func (all clients) close() {
	for _, c := range all {
		c.close()
	}
}

func (c *client) close() { c.tls.Close() }

func (c *client) send(r *request) error {
	b := append(c.out[:0], r.method...)
	b = append(b, ' ')
	b = append(b, r.path...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = append(b, c.fixed...)
	if r.gzip {
		b = append(b, "Accept-Encoding: gzip\r\n"...)
	}
	if r.body != nil {
		kind := r.contentType
		if kind == "" {
			kind = "application/json"
		}
		b = append(b, "Content-Type: "...)
		b = append(b, kind...)
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(r.body)), 10)
		b = append(b, "\r\n"...)
	}
	b = append(b, "\r\n"...)
	c.out = append(b, r.body...)
	_, err := c.tls.Write(c.out)
	return err
}

// readHead reads status line and headers. Length -1: chunked.
func (c *client) readHead() (status int, length int64, err error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, fmt.Errorf("bad status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	for {
		if line, err = c.reader.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		if len(line) <= 2 {
			return status, length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("content-length")) {
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return 0, 0, err
			}
		} else if bytes.EqualFold(name, []byte("transfer-encoding")) {
			length = -1
		}
	}
}

// readBody appends n bytes to the body.
func (c *client) readBody(n int64) error {
	have := len(c.body)
	if cap(c.body) < have+int(n) {
		c.body = append(make([]byte, 0, (have+int(n))*3/2), c.body...)
	}
	c.body = c.body[:have+int(n)]
	_, err := io.ReadFull(c.reader, c.body[have:])
	return err
}

func (c *client) readChunks() error {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if err := c.readBody(n); err != nil {
			return err
		}
		if _, err := c.reader.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

func (c *client) do(r *request) (status int, body []byte, err error) {
	if err = c.send(r); err != nil {
		return 0, nil, err
	}
	status, length, err := c.readHead()
	if err != nil {
		return 0, nil, err
	}
	c.body = c.body[:0]
	if length >= 0 {
		err = c.readBody(length)
	} else {
		err = c.readChunks()
	}
	return status, c.body, err
}

// must does a request that has one right answer.
func (c *client) must(want int, r *request) ([]byte, error) {
	status, body, err := c.do(r)
	if err != nil {
		return nil, err
	}
	if status != want {
		return nil, fmt.Errorf("%s %s: %d instead of %d: %.300s", r.method, r.path, status, want, body)
	}
	return body, nil
}
