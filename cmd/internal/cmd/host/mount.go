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
		Long: `Mount the data volume of a master, as its unit does before the master starts.
The disk is found by the volume's id, or on Google Cloud by the name that it is
attached under. It is formatted only when it is blank: a
disk that holds anything but ext4 or xfs is refused and left as it is. A volume
that was enlarged is used in full.`,
		Example: `  det-deploy host mount --volume vol-0123456789abcdef0
  det-deploy host mount --disk-name det-data`,
	})
	f := c.Flags()
	o.addFlags(f)
	f.StringVar(&o.At, "at", wire.DataDir, "directory to mount it at")
	return c
}

func (o *mountOptions) Validate() error {
	switch {
	case o.Name != "" && (o.Volume != "" || o.Device != ""):
		return usage.Errorf("--disk-name excludes --volume and --device")
	case o.Name == "" && !strings.HasPrefix(o.Volume, "vol-"):
		return usage.Errorf("--volume must be a volume's id, vol-… (%q)", o.Volume)
	}
	if !filepath.IsAbs(o.At) {
		return usage.Errorf("--at must be absolute (%q)", o.At)
	}
	return o.checkName()
}

func runMount(ctx context.Context, o *mountOptions) error {
	return wire.MountVolume(ctx, o.volume(o.At), o.Err, o.ErrTerminal())
}
