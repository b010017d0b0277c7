package host

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type mountOptions struct {
	command.Base

	Volume string
	Device string
	At     string
}

func newMount(s *term.Streams) *cobra.Command {
	o := &mountOptions{}
	c := command.New(s, o, runMount, &cobra.Command{
		Use:   "mount",
		Short: "Mount the data volume of a master",
		Long: `Mount the data volume of a master, as its unit does before the master starts.
The disk is found by the volume's id. It is formatted only when it is blank: a
disk that holds anything but ext4 or xfs is refused and left as it is. A volume
that was enlarged is used in full.`,
		Example: "  det-deploy host mount --volume vol-0123456789abcdef0",
	})
	f := c.Flags()
	f.StringVar(&o.Volume, "volume", "", "data volume of a master: vol-…")
	f.StringVar(&o.Device, "device", "", "name that the volume is attached under, for types whose disks do not carry their volume's id")
	f.StringVar(&o.At, "at", wire.DataDir, "directory to mount it at")
	return c
}

func (o *mountOptions) Validate() error {
	if !strings.HasPrefix(o.Volume, "vol-") {
		return usage.Errorf("--volume must be a volume's id, vol-… (%q)", o.Volume)
	}
	if !filepath.IsAbs(o.At) {
		return usage.Errorf("--at must be absolute (%q)", o.At)
	}
	return nil
}

func runMount(ctx context.Context, o *mountOptions) error {
	return wire.MountVolume(ctx, wire.Volume{ID: o.Volume, Device: o.Device, At: o.At}, o.Err, o.ErrTerminal())
}
