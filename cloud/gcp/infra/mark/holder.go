package mark

import (
	"context"
	"regexp"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
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
func (c *Cluster) lookUpHolder(ctx context.Context, refusal error) infra.Holder {
	m := userPath.FindStringSubmatch(refusal.Error())
	if m == nil {
		return infra.Holder{}
	}
	user := strings.Split(m[1], "/")
	return infra.Holder{Command: deletingCommand(user), Foreign: c.isForeign(ctx, user)}
}

// isForeign reports whether a path is that of an object that is not the cluster's and is not being deleted.
// It returns false for kinds that Google deletes by itself, such as routes.
func (c *Cluster) isForeign(ctx context.Context, user []string) bool {
	n := len(user)
	if n < 5 || strings.HasPrefix(user[n-1], c.FullName("")+"-") {
		return false
	}
	switch user[n-2] {
	case "addresses", "firewalls", "forwardingRules", "instanceTemplates", "routers", "vpnTunnels":
		return true
	case "instances":
		live, err := api.Do(ctx, c.Clients.Compute.Instances.Get(user[1], user[3], user[n-1]))
		return err == nil && live.Labels[ClusterLabel] != c.ID && live.Status != "STOPPING"
	}
	return false
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
