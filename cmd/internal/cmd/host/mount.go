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

	dataDisk

	At string
}

func newMount(s *term.Streams) *cobra.Command {
	o := &mountOptions{}
	c := command.New(s, o, runMount, &cobra.Command{
		Use:   "mount",
		Short: "Mount the data volume of a master",
		Long: `Mount the data volume of a master. The systemd unit of the master runs it before the
master starts. The disk is found by its volume ID or, on Google Cloud, by its device
name. A blank disk is formatted; a disk with other contents than an ext4 or xfs file
system causes an error and is not changed. The file system is grown to the size of the
volume.`,
		Example: `  det-deploy host mount --volume vol-0123456789abcdef0
  det-deploy host mount --disk-name det-data`,
	})
	f := c.Flags()
	o.addFlags(f)
	f.StringVar(&o.At, "at", wire.DataDir, "mount point")
	return c
}

func (o *mountOptions) Validate() error {
	switch {
	case o.Name != "" && (o.Volume != "" || o.Device != ""):
		return usage.Errorf("use either --disk-name or --volume and --device")
	case o.Name == "" && !strings.HasPrefix(o.Volume, "vol-"):
		return usage.Errorf("--volume: must be a volume ID, vol-… (is %q)", o.Volume)
	}
	if !filepath.IsAbs(o.At) {
		return usage.Errorf("--at: must be an absolute path (is %q)", o.At)
	}
	return o.checkName()
}

func runMount(ctx context.Context, o *mountOptions) error {
	return wire.MountVolume(ctx, o.volume(o.At), o.Err, o.ErrTerminal())
}
