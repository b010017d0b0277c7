// Command testapp is the program that the cluster's tests run in its pods.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	os.Exit(run(append(os.Args[1:], "env", ""))) //nolint:forbidigo // this is main
}

// run executes the command in the first argument with the second.
func run(args []string) int {
	does := map[string]func(string) error{
		"serve": serve, "get": get, "api": api, "lookup": lookup, "write": write, "list": list, "env": environ, "eat": eat,
	}
	do, found := does[args[0]]
	if !found {
		do = func(string) error { return errors.New("there is no such test") }
	}
	if err := do(args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// background returns the context of all commands, which run until they are killed.
func background() context.Context {
	return context.Background() //nolint:forbidigo // this is the top of a program
}

func serve(address string) error {
	if !strings.Contains(address, ":") {
		address = ":8080"
	}
	l, err := new(net.ListenConfig).Listen(background(), "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "serving", l.Addr())
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello from", name) }))
}

// client returns a client that verifies no certificate: the tests check connectivity, not the
// server.
func client() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

func get(url string) error {
	q, err := http.NewRequestWithContext(background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := client().Do(q)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, r.Body)
	return errors.Join(err, r.Body.Close())
}

// api sends a request to the API server with the token of the pod.
func api(path string) error {
	token, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/token")
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(background(), http.MethodGet, "https://kubernetes.default.svc"+path, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+string(token))
	r, err := client().Do(q)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, r.StatusCode)
	return r.Body.Close()
}

func lookup(host string) error {
	addresses, err := new(net.Resolver).LookupHost(background(), host)
	fmt.Fprintln(os.Stdout, strings.Join(addresses, " "))
	return err
}

func write(path string) error {
	fmt.Fprintln(os.Stdout, "written", path)
	return os.WriteFile(path, []byte("x"), 0o644)
}

func list(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		fmt.Fprintln(os.Stdout, dir+"/"+e.Name())
	}
	return err
}

func environ(string) error {
	for _, e := range os.Environ() {
		fmt.Fprintln(os.Stdout, e)
	}
	return nil
}

// eat allocates memory until the process is killed.
func eat(string) error {
	for held := [][]byte{}; ; {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		held = append(held, b)
	}
}
