package local

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/local"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// followInterval is the interval at which followed logs are read. It is short enough for a user and long
// enough to keep the cost of reading low.
const followInterval = 200 * time.Millisecond

// Logs prints the logs of the cluster's processes.
func (o *selection) Logs(ctx context.Context, _ cluster.Request) error {
	place, err := wire.LocalPlace(o.Streams, o.Cluster)
	if err != nil {
		return err
	}
	if all, err := place.Logs(); err != nil || len(all) == 0 {
		return cmp.Or(err, absent(o.Streams, o.Cluster))
	} else if o.Process != "" && !slices.Contains(all, o.Process) {
		return usage.Errorf("cluster %s has no process %s; choose from %s", o.Cluster, o.Process, strings.Join(all, ", "))
	}
	at := make(map[string]int64)
	for {
		if err := o.show(place, at); err != nil || !o.Follow {
			return err
		}
		if wait.For(ctx, followInterval) != nil {
			return nil //nolint:nilerr // an interrupt ends following without an error
		}
	}
}

// show prints the complete lines that were added to each log since the last read.
func (o *selection) show(place target.Place, at map[string]int64) error {
	names, err := place.Logs()
	if err != nil {
		return err
	}
	for _, name := range names {
		if o.Process != "" && name != o.Process {
			continue
		}
		if err := o.showNew(place.Log(name), name, at); err != nil {
			return fmt.Errorf("cannot read the log of %s: %w", name, err)
		}
	}
	return nil
}

func (o *selection) showNew(path, name string, at map[string]int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	if info, err := f.Stat(); err == nil && info.Size() < at[name] {
		at[name] = 0 // the log was rotated
	}
	data, err := io.ReadAll(io.NewSectionReader(f, at[name], 1<<62))
	if err != nil {
		return err
	}
	if o.Follow {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	at[name] += int64(len(data))
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(string(line), "\n")
		if o.Process == "" {
			text = name + " | " + text
		}
		o.Printf("%s", text)
	}
	return nil
}
