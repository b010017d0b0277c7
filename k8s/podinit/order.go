// Package podinit is the program of the init container of a task's pod: it puts
// the task's files where its container will find them, and fetches from the master
// the files that the user sent along.
package podinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Order is what an init container is to do. The Secret of its pod holds it as
// files in one directory, beside what it refers to.
type Order struct {
	Allocation string `json:"allocation"`
	Task       string `json:"task"`
	// Master is the master's URL, without a path.
	Master string `json:"master"`
	// CertName is the name in the master's certificate if it is not the one in
	// Master; NoVerify takes any certificate.
	CertName string `json:"cert_name,omitempty"`
	NoVerify bool   `json:"no_verify,omitempty"`
	// Context is where below the volume the context directory goes; empty when
	// the task has none.
	Context string `json:"context,omitempty"`
	// GPUs says that the task's container is given some, which it alone sees.
	GPUs bool `json:"gpus,omitempty"`
	// UID and GID are the task's account, which owns what has no other owner.
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// The keys of the Secret.
const (
	keyOrder = "order.json"
	keyFiles = "files.tar.gz"
	keyCA    = "master.crt"
	keyToken = "session-token"
)

// Keys is the order as keys of a Secret: with the task's files as a gzipped tar
// archive, the authority that signs the master's certificate (PEM, may be empty),
// and the allocation's token.
func (o Order) Keys(files, ca []byte, token string) (map[string][]byte, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write the order of an init container: %w", err)
	}
	out := map[string][]byte{keyOrder: data, keyFiles: files}
	if len(ca) > 0 {
		out[keyCA] = ca
	}
	if o.Context != "" {
		out[keyToken] = []byte(token)
	}
	return out, nil
}

// readOrder reads the order from the directory that the Secret is mounted at.
func readOrder(dir string) (Order, error) {
	var o Order
	data, err := os.ReadFile(filepath.Join(dir, keyOrder))
	if errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf("%s holds no order: this command is for the init container of a task's pod", dir)
	}
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("read %s: %w", filepath.Join(dir, keyOrder), err)
	}
	return o, nil
}
