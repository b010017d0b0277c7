package main

import (
	"os"

	"github.com/coredns/caddy"
	_ "github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/template"
)

// serveDNS serves the Corefile in the first argument. It has only the plugins imported above, which
// keeps the cloud SDKs of a full CoreDNS out of the build.
func serveDNS() error {
	if len(os.Args) < 2 {
		return errUsage
	}
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	caddy.Quiet = true
	caddy.TrapSignals()
	server, err := caddy.Start(caddy.CaddyfileInput{Contents: b, Filepath: os.Args[1], ServerTypeName: "dns"})
	if err != nil {
		return err
	}
	server.Wait()
	return nil
}
