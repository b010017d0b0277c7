package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// checkSecurityGroups checks that the user's security groups open the ports that the cluster needs.
func (c *checker) checkSecurityGroups(ctx context.Context) doctor.Result {
	n := c.Spec.Network
	needed := fmt.Sprintf("groups of %s: agents reach the master on %d, the master and agents reach agents on all ports", n.VPC, hosted.MasterPort)
	ids := slices.DeleteFunc([]string{n.MasterSecurityGroup, n.AgentSecurityGroup}, func(s string) bool { return s == "" })
	out, err := c.Clients.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: ids})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	var wrong, odd []string
	for _, g := range out.SecurityGroups {
		if aws.ToString(g.VpcId) != n.VPC {
			wrong = append(wrong, fmt.Sprintf("%s is in %s", aws.ToString(g.GroupId), aws.ToString(g.VpcId)))
		}
		wrong = append(wrong, c.closedPorts(g)...)
		if aws.ToString(g.GroupId) == n.MasterSecurityGroup {
			for _, r := range facts.ClosedTo(g, hosted.MasterPort, c.Spec.Network.InboundRanges()) {
				odd = append(odd, fmt.Sprintf("%s does not admit %s on port %d", aws.ToString(g.GroupId), r, hosted.MasterPort))
			}
		}
	}
	if len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), needed, "open the ports, or leave the groups to the cluster: --master-security-group and --agent-security-group empty")
	}
	if len(odd) > 0 {
		return doctor.Unsure(strings.Join(odd, "; "), "an existing group that admits the master's clients", "open the port there: an existing group is not changed")
	}
	return doctor.Passed("%s", strings.Join(ids, ", "))
}

// closedPorts lists the ports that a group closes. It accepts any source, because only the owner
// knows which address range contains the agents.
func (c *checker) closedPorts(g ec2types.SecurityGroup) []string {
	var out []string
	id := aws.ToString(g.GroupId)
	if id == c.Spec.Network.MasterSecurityGroup && !facts.Admits(g.IpPermissions, hosted.MasterPort, hosted.MasterPort) {
		out = append(out, fmt.Sprintf("%s admits no address on port %d", id, hosted.MasterPort))
	}
	if id == c.Spec.Network.AgentSecurityGroup && !facts.Admits(g.IpPermissions, hosted.FirstAgentPort, hosted.LastAgentPort) {
		out = append(out, fmt.Sprintf("%s does not admit the master and agents on ports %d to %d", id, hosted.FirstAgentPort, hosted.LastAgentPort))
	}
	if !facts.Admits(g.IpPermissionsEgress, hosted.InternetPort, hosted.InternetPort) {
		out = append(out, id+" allows no traffic to the internet")
	}
	return out
}
