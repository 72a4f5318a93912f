// h2spec, from its published module: the newest one that the proxy of Go's modules has.
//
//	h2spec HOST PORT PATH SECONDS REPORT
//
// asks a server over TLS, and writes what came of each case to a file.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}

func main() {
	host, path, report := os.Args[1], os.Args[3], os.Args[5]
	_, err := h2spec.Run(&config.Config{
		Host: host, Port: number(os.Args[2]), Path: path, Timeout: time.Duration(number(os.Args[4])) * time.Second,
		MaxHeaderLen: 4000, JUnitReport: report, TLS: true, Insecure: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
