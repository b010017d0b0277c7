package gcecloud

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	"github.com/det-deploy/det-deploy/test/booter"
)

// units makes the image start Google's services for startup and shutdown scripts.
const units = "[Unit]\nWants=google-startup-scripts.service google-shutdown-scripts.service\n"

// onConsole makes a unit write to the serial port as well, like in stock images.
const onConsole = "[Service]\nStandardOutput=journal+console\nStandardError=journal+console\n"

// Platform implements booter.Cloud.
func (c *Cloud) Platform() booter.Platform {
	const etc = "etc/systemd/system/"
	p := booter.Platform{
		Vendor: "Google", Product: "Google Compute Engine", Virt: "google", Serial: serial, MetadataHost: "metadata.google.internal metadata",
		Hosts: c.hosts,
		Files: map[string]string{
			etc + "multi-user.target.d/google.conf":                  units,
			etc + "google-startup-scripts.service.d/console.conf":    onConsole,
			etc + "google-shutdown-scripts.service.d/console.conf":   onConsole,
			"usr/lib/systemd/system-generators/cloud-init-generator": "#!/bin/sh\n",
			trustedFile: c.trusted,
		},
		Programs: map[string]string{
			"/usr/bin/google_metadata_script_runner": "google-guest-agent", "/sbin/sfdisk": "fdisk", "/sbin/mkfs.ext4": "e2fsprogs",
		},
	}
	maps.Copy(p.Files, c.image)
	return p
}

// serial returns an instance's serial number in the form of a UUID.
func serial(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := hex.EncodeToString(sum[:16])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
