package local

import "golang.org/x/sys/unix"

// createsNamespaces reports whether this process may create namespaces.
func createsNamespaces() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData // this version of the header has two
	err := unix.Capget(&hdr, &caps[0])
	return err == nil && caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
