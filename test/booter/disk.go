package booter

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hidden returns paths that a fresh machine does not have, though the host may have them, and
// configuration that makes the host start its own services.
func hidden() []string {
	const wants = "etc/systemd/system/"
	return []string{
		"var/lib/cloud", "var/lib/det-deploy", "var/log/cloud-init.log", "var/log/cloud-init-output.log", "var/log/journal",
		"etc/determined", "etc/cloud/cloud-init.disabled", "var/lib/docker", "var/lib/containerd",
		wants + "multi-user.target.wants", wants + "sockets.target.wants", wants + "timers.target.wants",
		wants + "getty.target.wants", wants + "sysinit.target.wants",
		// A lab has no DHCP server, for which it would wait a minute.
		"usr/sbin/dhclient",
		"usr/lib/systemd/system-generators/systemd-getty-generator", "usr/lib/modules-load.d", "etc/modules-load.d",
	}
}

// virt and dmi are scripts that print the same as on a machine of the cloud.
const (
	virt = "#!/bin/sh\ncase \"$*\" in *c*) exit 1 ;; esac\necho %s\n"
	dmi  = "#!/bin/sh\ncase \"$*\" in *uuid* | *serial*) echo %s ;; *product*) echo %s ;; *) echo %s ;; esac\n"
)

// disk creates the upper layer of a machine's root file system, which holds its writes. It must not
// be edited while the machine runs, see the kernel's overlayfs documentation. The layer of a
// machine that has booted before is not changed.
func disk(dir string, p Platform, h Machine) error {
	if _, err := os.Stat(filepath.Join(dir, "upper")); err == nil {
		return nil
	}
	for _, d := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	var errs []error
	put := func(path, text string) {
		path = filepath.Join(dir, "upper", path)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // machines read and run it
	}
	serial := p.Serial(h.ID)
	put("etc/hostname", h.Hostname+"\n")
	put("etc/hosts", fmt.Sprintf("127.0.0.1 localhost\n%s %s\n169.254.169.254 %s\n%s", h.Addresses[0], h.Hostname, p.MetadataHost, p.Hosts))
	put("etc/fstab", "")
	put("usr/bin/systemd-detect-virt", fmt.Sprintf(virt, p.Virt))
	put("usr/sbin/dmidecode", fmt.Sprintf(dmi, serial, cmp.Or(p.Product, p.Vendor), p.Vendor))
	put("etc/resolv.conf", "")
	for path, text := range p.Files {
		put(path, text)
	}
	put("etc/systemd/journald.conf.d/booter.conf", "[Journal]\nStorage=persistent\nSeal=no\n")
	// Without a machine ID, systemd would consider this the first boot and enable all units.
	put("etc/machine-id", strings.ReplaceAll(serial, "-", "")+"\n")
	for _, path := range hidden() {
		errs = append(errs, whiteout(filepath.Join(dir, "upper", path)))
	}
	return errors.Join(errs...)
}
