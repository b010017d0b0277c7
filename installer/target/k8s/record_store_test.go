package k8s_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	c, namespace := shared.Namespace(t)
	var n atomic.Int64
	recordtest.Suite(t, func(*testing.T) record.Store {
		id := "c" + strconv.FormatInt(n.Add(1), 10)
		return k8s.Store{Secrets: c.Client().CoreV1().Secrets(namespace), Namespace: namespace, Cluster: id}
	})
}
