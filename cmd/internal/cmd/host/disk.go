package host

import (
	"regexp"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// dataDisk identifies the disk that holds a master's data.
type dataDisk struct {
	Volume string
	Device string
	Name   string
}

// diskName matches the device names that Google Cloud accepts for attached disks.
var diskName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func (d *dataDisk) addFlags(f *pflag.FlagSet) {
	f.StringVar(&d.Volume, "volume", "", "data volume of a master, such as vol-0123456789abcdef0")
	f.StringVar(&d.Device, "device", "", "device name of the volume, for instance types whose disks do not expose the volume ID")
	f.StringVar(&d.Name, "disk-name", "", "device name of a master's data disk on Google Cloud, such as det-data")
}

// checkName returns an error if the disk name is invalid.
func (d *dataDisk) checkName() error {
	if d.Name != "" && !diskName.MatchString(d.Name) {
		return usage.Errorf("--disk-name: must consist of lower-case letters, digits and hyphens (is %q)", d.Name)
	}
	return nil
}

// volume returns the disk to be mounted at a directory.
func (d *dataDisk) volume(at string) wire.Volume {
	return wire.Volume{ID: d.Volume, Device: d.Device, Name: d.Name, At: at}
}
