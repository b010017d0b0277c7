package mark

import (
	"context"
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

// userPath matches the user of an object in Google's error message: "The subnetwork resource '…' is
// already being used by 'projects/p/zones/us-west1-a/instances/crawler'".
var userPath = regexp.MustCompile(`already being used by '(?:https://[^']*/)?(projects/[^']+)'`)

// gcloudGroups maps kinds of objects that use others to gcloud command groups.
var gcloudGroups = map[string]string{
	"addresses": "addresses", "disks": "disks", "firewalls": "firewall-rules", "forwardingRules": "forwarding-rules",
	"instances": "instances", "instanceTemplates": "instance-templates", "networks": "networks",
	"routers": "routers", "routes": "routes", "subnetworks": "networks subnets", "vpnTunnels": "vpn-tunnels",
}

// lookUpHolder returns the user of an object from Google's error message.
func lookUpHolder(_ context.Context, refusal error) infra.Holder {
	m := userPath.FindStringSubmatch(refusal.Error())
	if m == nil {
		return infra.Holder{}
	}
	return infra.Holder{Command: deletingCommand(strings.Split(m[1], "/"))}
}

// deletingCommand returns the command that deletes the object of a path such as
// projects/p/global/routes/r or projects/p/regions/r/subnetworks/s. It returns "" for an unknown
// kind.
func deletingCommand(path []string) string {
	n := len(path)
	if n < 5 || gcloudGroups[path[n-2]] == "" {
		return ""
	}
	command := "gcloud compute " + gcloudGroups[path[n-2]] + " delete " + path[n-1] + " --project " + path[1]
	switch path[2] {
	case "zones":
		command += " --zone " + path[3]
	case "regions":
		command += " --region " + path[3]
	case "global":
		if g := path[n-2]; g == "addresses" || g == "forwardingRules" {
			command += " --global"
		}
	}
	return command
}
