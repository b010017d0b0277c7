package container

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// Spec describes a container.
type Spec struct {
	ID         string
	Allocation string
	Agent      string
	Cluster    string
	// Type and Description are labels for users who list containers.
	Type        string
	Description string

	Image     string
	ForcePull bool
	Auth      Auth

	// Command is the program and its arguments; if empty, the image's.
	Command []string
	// Env is a list of KEY=VALUE. The last value of a repeated key applies.
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
	// Memory is the memory limit, and Processes the maximum number of processes and threads; 0 means
	// no limit. Plain processes ignore both.
	Memory, Processes int64
	NetworkMode       string
	// User is nil for the default user of the image or the agent.
	User     *User
	AddCaps  []string
	DropCaps []string
	Ports    []int
	// HostGateway is the name of the host in a container with its own network; empty for none.
	HostGateway string
	// FixedPaths is true if the program uses paths that are not in its arguments or variables. A
	// runtime that cannot provide Files, Mounts and WorkDir at their paths returns an error in
	// Prepare.
	FixedPaths bool
	// Unset lists default settings, which a runtime ignores without a notice.
	Unset Unset
}

// Unset marks the settings that neither the task nor its cluster sets explicitly.
type Unset struct{ Image, ShmSize, NetworkMode bool }

// Vendor is the vendor of the GPUs.
type Vendor string

// Values of Vendor.
const (
	NVIDIA Vendor = "nvidia"
	AMD    Vendor = "amd"
)

// Auth contains the credentials for the registry of the image.
type Auth struct {
	Username, Password, Auth, Email             string
	ServerAddress, IdentityToken, RegistryToken string
}

// String hides the secrets in every format.
func (Auth) String() string { return "‹redacted›" }

// GoString hides the secrets in %#v.
func (Auth) GoString() string { return "‹redacted›" }

// File is a file to create in the container before its program starts.
type File struct {
	// Path is absolute in the container.
	Path string
	Dir  bool
	// Link, if set, is the target of a symbolic link.
	Link    string
	Content []byte
	// Body, if set, is the content instead of Content. It is valid until the container is started.
	Body     *io.SectionReader
	Mode     uint32
	UID, GID int
	ModTime  time.Time
}

// Size returns the size of the content in bytes.
func (f File) Size() int64 {
	if f.Body != nil {
		return f.Body.Size()
	}
	return int64(len(f.Content))
}

// WriteTo writes the content.
func (f File) WriteTo(w io.Writer) (int64, error) {
	if f.Body == nil {
		n, err := w.Write(f.Content)
		return int64(n), err
	}
	return io.Copy(w, io.NewSectionReader(f.Body, 0, f.Body.Size()))
}

// Mount is a bind mount of a host directory or file.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
	Propagation             string
}

// Device is a host device to pass through; Mode consists of r, w and m.
type Device struct {
	HostPath, ContainerPath, Mode string
}

// User is the user of the program.
type User struct {
	UID, GID int
}

// Validate returns an error if no runtime could run the container.
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

// Unbuffered is set for a task if neither its image nor its order sets the variable. Python would
// otherwise buffer its output until the buffer is full or the program exits.
const Unbuffered = "PYTHONUNBUFFERED=1"

// HasVariable reports whether a list of NAME=value contains a name.
func HasVariable(env []string, name string) bool {
	return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}
