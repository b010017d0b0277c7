package main

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// password is that of both built-in users in the clusters below.
const password = clustertest.Password

// binary and newer build det-deploy once for all tests of this package, newer with another version.
var (
	binary = clustertest.Program
	newer  = sync.OnceValues(func() (string, error) { return clustertest.Build("v1.1.0") })
)

// cluster is a real master and real agents.
type cluster struct{ *clustertest.Cluster }

type clusterConfig = clustertest.Config

func newCluster(t *testing.T, cfg clusterConfig) *cluster {
	t.Helper()
	return &cluster{clustertest.New(t, cfg)}
}

func kill(cmd *exec.Cmd) { clustertest.Kill(cmd) }

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
