package booter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hidden is what a fresh machine does not have, though this one may, and what
// makes this one start services of its own.
func hidden() []string {
	const wants = "etc/systemd/system/"
	return []string{
		"var/lib/cloud", "var/lib/det-deploy", "var/log/cloud-init.log", "var/log/cloud-init-output.log", "var/log/journal",
		"etc/determined", "etc/cloud/cloud-init.disabled", "var/lib/docker", "var/lib/containerd",
		wants + "multi-user.target.wants", wants + "sockets.target.wants", wants + "timers.target.wants",
		wants + "getty.target.wants", wants + "sysinit.target.wants",
		// Nobody hands out addresses in a lab, and it would wait a minute for that.
		"usr/sbin/dhclient",
		"usr/lib/systemd/system-generators/systemd-getty-generator", "usr/lib/modules-load.d", "etc/modules-load.d",
	}
}

// cloudConfig has cloud-init do what matters here, from Amazon's metadata.
const cloudConfig = `datasource_list: [Ec2]
datasource:
  Ec2: {strict_id: false, timeout: 5, max_wait: 30, metadata_urls: ["http://169.254.169.254"]}
network: {config: disabled}
preserve_hostname: true
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-per-once, scripts-per-boot, scripts-per-instance, scripts-user]
output: {all: '| tee -a /var/log/cloud-init-output.log'}
`

// identify has cloud-init believe that it is on a cloud.
const identify = "policy: search,found=all,maybe=all,notfound=enabled\ndatasource: Ec2\n"

// virt and dmi answer as they do on a machine of Amazon's.
const (
	virt = "#!/bin/sh\ncase \"$*\" in *c*) exit 1 ;; esac\necho amazon\n"
	dmi  = "#!/bin/sh\ncase \"$*\" in *uuid* | *serial*) echo %s ;; *) echo Amazon EC2 ;; esac\n"
)

// disk is what a machine writes: the upper layer of its root. Only whoever has
// read the kernel's overlay documentation edits it while the machine runs.
func disk(dir, serial string, h host) error {
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
	put("etc/hostname", h.name+"\n")
	put("etc/hosts", fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", h.addresses[0], h.name))
	put("etc/fstab", "")
	put("usr/bin/systemd-detect-virt", virt)
	put("usr/sbin/dmidecode", fmt.Sprintf(dmi, serial))
	put("etc/resolv.conf", "")
	put("etc/cloud/cloud.cfg.d/99-booter.cfg", cloudConfig)
	put("etc/cloud/ds-identify.cfg", identify)
	put("etc/systemd/journald.conf.d/booter.conf", "[Journal]\nStorage=persistent\nSeal=no\n")
	// Without one, systemd would take this for a first boot and enable everything.
	put("etc/machine-id", strings.ReplaceAll(serial, "-", "")+"\n")
	for _, path := range hidden() {
		errs = append(errs, whiteout(filepath.Join(dir, "upper", path)))
	}
	return errors.Join(errs...)
}
