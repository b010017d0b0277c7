// Package podinit is the program of the init container of a task's pod: it creates the task's files
// in a volume, and downloads the context directory from the master.
package podinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Order is the configuration of an init container. The Secret of its pod contains it and the files
// that it references, mounted as one directory.
type Order struct {
	Allocation string `json:"allocation"`
	Task       string `json:"task"`
	// Master is the master's URL, without a path.
	Master string `json:"master"`
	// CertName is the name in the master's certificate if it differs from the one in Master;
	// NoVerify accepts any certificate.
	CertName string `json:"cert_name,omitempty"`
	NoVerify bool   `json:"no_verify,omitempty"`
	// Context is the path of the context directory in the volume; empty if the task has none.
	Context string `json:"context,omitempty"`
	// GPUs is true if the task's container has GPUs, which only that container can see.
	GPUs bool `json:"gpus,omitempty"`
	// UID and GID are the task's account, the default owner of files.
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Keys of the Secret.
const (
	keyOrder = "order.json"
	keyFiles = "files.tar.gz"
	keyCA    = "master.crt"
	keyToken = "session-token"
)

// Keys returns the content of the Secret: the order, the task's files as a gzipped tar archive, the
// CA of the master's certificate (PEM, may be empty), and the allocation's token.
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

// readOrder reads the order from the directory where the Secret is mounted.
func readOrder(dir string) (Order, error) {
	var o Order
	data, err := os.ReadFile(filepath.Join(dir, keyOrder))
	if errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf("%s contains no order: this command is for the init container of a task's pod", dir)
	}
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("read %s: %w", filepath.Join(dir, keyOrder), err)
	}
	return o, nil
}
