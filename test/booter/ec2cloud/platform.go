package ec2cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/det-deploy/det-deploy/test/booter"
)

// cloudConfig restricts cloud-init to the relevant modules and to the emulated metadata service.
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

// identify makes ds-identify enable the Ec2 data source.
const identify = "policy: search,found=all,maybe=all,notfound=enabled\ndatasource: Ec2\n"

// Platform implements booter.Cloud.
func (c *Cloud) Platform() booter.Platform {
	return booter.Platform{
		Vendor: "Amazon EC2", Virt: "amazon", Serial: serial, MetadataHost: "instance-data.ec2.internal",
		Files:    map[string]string{"etc/cloud/cloud.cfg.d/99-booter.cfg": cloudConfig, "etc/cloud/ds-identify.cfg": identify},
		Programs: map[string]string{"/usr/bin/cloud-init": "cloud-init"},
	}
}

// serial returns a machine's serial number in the form of EC2's, by which cloud-init identifies the
// platform.
func serial(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := hex.EncodeToString(sum[:16])
	return strings.Join([]string{"ec2" + text[3:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
