package container

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Spec is one container to run.
type Spec struct {
	ID         string
	Allocation string
	Agent      string
	Cluster    string
	// Type and Description are for people who list containers.
	Type        string
	Description string

	Image     string
	ForcePull bool
	Auth      Auth

	// Command is the program and its arguments; empty runs what the image
	// says.
	Command []string
	// Env is KEY=VALUE; of a repeated key the last one counts.
	Env     []string
	WorkDir string
	Files   []File
	Mounts  []Mount
	// Devices are host devices to pass through; GPUs are UUIDs.
	Devices   []Device
	GPUs      []string
	GPUVendor Vendor
	// SlotIDs are for the label that lists the devices.
	SlotIDs []int32
	ShmSize int64
	// Memory is the most that the container may use; 0 is no limit. Plain processes
	// have none.
	Memory      int64
	NetworkMode string
	// User is nil for whatever the image, or the agent, runs as.
	User     *User
	AddCaps  []string
	DropCaps []string
	Ports    []int
	// HostGateway names the host from inside a network of its own; empty
	// adds no name.
	HostGateway string
	// FixedPaths says that the program reads files at paths it does not learn from
	// its arguments or variables: a runtime that cannot show Files, Mounts and
	// WorkDir where they say refuses it in Prepare.
	FixedPaths bool
	// Unset says what a runtime that cannot apply it need not tell the owner.
	Unset Unset
}

// Unset are settings that have the values which they have where neither the task nor its
// cluster sets them.
type Unset struct{ Image, ShmSize, NetworkMode bool }

// Vendor is who made the GPUs.
type Vendor string

// The vendors.
const (
	NVIDIA Vendor = "nvidia"
	AMD    Vendor = "amd"
)

// Auth is for the registry of the image.
type Auth struct {
	Username, Password, Auth, Email             string
	ServerAddress, IdentityToken, RegistryToken string
}

// String hides the secrets in every format.
func (Auth) String() string { return "‹redacted›" }

// GoString hides the secrets in %#v.
func (Auth) GoString() string { return "‹redacted›" }

// File is put into the container before its program starts.
type File struct {
	// Path is absolute in the container.
	Path string
	Dir  bool
	// Link, when set, makes a symbolic link.
	Link     string
	Content  []byte
	Mode     uint32
	UID, GID int
	ModTime  time.Time
}

// Mount shows a directory or file of the host in the container.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
	Propagation             string
}

// Device passes a host device through; Mode is of r, w and m.
type Device struct {
	HostPath, ContainerPath, Mode string
}

// User is who the program runs as.
type User struct {
	UID, GID int
}

// Validate refuses what no runtime could run.
func (s Spec) Validate() error {
	if s.ID == "" || strings.ContainsAny(s.ID, "/\x00") || s.ID == "." || s.ID == ".." {
		return fmt.Errorf("container id %q: must be a plain name", s.ID)
	}
	for _, f := range s.Files {
		if !path.IsAbs(f.Path) || path.Clean(f.Path) == "/" {
			return fmt.Errorf("file %q: the path must be absolute", f.Path)
		}
	}
	for _, m := range s.Mounts {
		if !path.IsAbs(m.HostPath) || !path.IsAbs(m.ContainerPath) {
			return fmt.Errorf("mount %q at %q: both paths must be absolute", m.HostPath, m.ContainerPath)
		}
	}
	if s.WorkDir != "" && !path.IsAbs(s.WorkDir) {
		return fmt.Errorf("work_dir %q: must be absolute", s.WorkDir)
	}
	for _, e := range s.Env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" || strings.Contains(e, "\x00") {
			return fmt.Errorf("environment %q: must be NAME=value", k)
		}
	}
	return nil
}

// Unbuffered is in the environment of a task where neither its image nor its order has the variable:
// Python would otherwise keep its output until a buffer is full or the program ends.
const Unbuffered = "PYTHONUNBUFFERED=1"

// HasVariable reports whether a list of NAME=value has a name.
func HasVariable(env []string, name string) bool {
	return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}
