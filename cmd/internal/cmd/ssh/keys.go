package ssh

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// keys is the directory with the keys of the shells of a cluster, in files with the names of their hosts, and
// with the host key of the cluster.
type keys string

// keysIn returns the directory for a cluster.
func keysIn(getenv func(string) string, cluster string) (keys, error) {
	if !hostName.MatchString(cluster) {
		return "", fmt.Errorf("the master says that its cluster ID is %q, which cannot be a directory: upgrade the master", cluster)
	}
	state := getenv("XDG_STATE_HOME")
	if state == "" && getenv("HOME") != "" {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	if !filepath.IsAbs(state) {
		return "", fmt.Errorf("find the directory for keys: set XDG_STATE_HOME to an absolute path, or HOME (is %q)", state)
	}
	return keys(filepath.Join(state, "det-deploy", "ssh", cluster)), nil
}

// alias is the name of the cluster among the known hosts.
func (k keys) alias() string { return "det-deploy-" + filepath.Base(string(k)) }

// knownHosts is the file with the host key. No host has its name, whatever the prefix is.
func (k keys) knownHosts() string { return filepath.Join(string(k), ".known_hosts") }

// write writes the key of a shell for a host name, and the host key of the cluster.
func (k keys) write(host, key, hostKey string) error {
	err := os.MkdirAll(string(k), 0o700)
	if err == nil {
		err = os.Chmod(string(k), 0o700) //nolint:gosec // a directory
	}
	if err == nil {
		err = atomicfile.WriteUnsynced(k.knownHosts(), []byte(k.alias()+" "+hostKey+"\n"), 0o600)
	}
	if err == nil {
		err = atomicfile.WriteUnsynced(filepath.Join(string(k), host), []byte(key), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the key of a shell: %w", err)
	}
	return nil
}

// prune removes the keys of hosts with a prefix that are not running shells any more.
func (k keys) prune(prefix string, runs func(name string) bool) error {
	entries, err := os.ReadDir(string(k))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		name, found := strings.CutPrefix(e.Name(), prefix)
		if found && !runs(name) {
			errs = append(errs, os.Remove(filepath.Join(string(k), e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the keys of ended shells: %w", err)
	}
	return nil
}
