package container

import (
	"path"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Device is a device of the machine for tasks.
type Device struct {
	HostPath      string `yaml:"host_path"`
	ContainerPath string `yaml:"container_path"`
	Mode          string `yaml:"mode"`
}

type deviceObject Device

// SetDefaults allows tasks to read, write and create the device.
func (d *deviceObject) SetDefaults() { d.Mode = "mrw" }

// UnmarshalDocument reads "host:container:mode" or an object.
func (d *Device) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		o := deviceObject{Mode: "mrw"}
		if v.Decode(&o) {
			*d = Device(o)
		}
		return
	}
	parts := strings.Split(v.Text(), ":")
	if len(parts) > 3 {
		v.Complain("must be host:container:mode", "")
		return
	}
	*d = Device{HostPath: parts[0], ContainerPath: parts[0], Mode: "mrw"}
	if len(parts) > 1 {
		d.ContainerPath = parts[1]
	}
	if len(parts) > 2 {
		d.Mode = parts[2]
	}
}

// MarshalDocument returns the object.
func (d Device) MarshalDocument() any { return deviceObject(d) }

// DocumentShape implements document.Shaper.
func (Device) DocumentShape() string {
	return "host:container:mode, or {host_path, container_path, mode}"
}

// Validate checks the paths and the mode.
func (d Device) Validate(at string) document.Errors {
	var e document.Errors
	e.Check(path.IsAbs(d.HostPath), document.Join(at, "host_path"), "must be absolute (is %q)", d.HostPath)
	e.Check(path.IsAbs(d.ContainerPath), document.Join(at, "container_path"), "must be absolute (is %q)", d.ContainerPath)
	e.Check(d.Mode != "" && strings.Trim(d.Mode, "mrw") == "", document.Join(at, "mode"), "must consist of m, r and w (is %q)", d.Mode)
	return e
}

// BindMount is a directory of the machine for tasks.
type BindMount struct {
	HostPath      string `yaml:"host_path" doc:"Directory of the machine"`
	ContainerPath string `yaml:"container_path" doc:"Path in the container"`
	ReadOnly      bool   `yaml:"read_only" doc:"The task may not write"`
	Propagation   string `yaml:"propagation" doc:"Mount propagation"`
}

// SetDefaults makes the mount private, as Docker does.
func (b *BindMount) SetDefaults() { b.Propagation = "rprivate" }

// Validate checks the paths.
func (b BindMount) Validate(at string) document.Errors {
	var e document.Errors
	e.Check(path.IsAbs(b.HostPath), document.Join(at, "host_path"), "must be absolute (is %q)", b.HostPath)
	e.Check(b.ContainerPath != "", document.Join(at, "container_path"), "is required")
	e = append(e, CheckPropagation(document.Join(at, "propagation"), b.Propagation)...)
	return e
}

// CheckPropagation returns an error for a mount propagation that Docker does not support.
func CheckPropagation(at, value string) document.Errors {
	return document.OneOf(at, value, []string{"rprivate", "private", "rshared", "shared", "rslave", "slave"})
}
