package identity

import (
	"errors"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
)

// networkUser is the role that allows creating instances in a subnetwork of another project.
const networkUser = Predefined("roles/compute.networkUser")

// NetworkUser returns the binding that allows an account to create instances in the shared
// subnetwork In.Shared. It is the only change in a host project, and is made only if requested.
func NetworkUser(c *mark.Cluster, name string, account Holder) *Binding {
	host, subnetwork, _ := strings.Cut(c.Shared, "/")
	return &Binding{
		In: c, Name: name + "-on-shared-network", Account: account, On: OnSubnetwork(c, c.Shared), Grants: []Grant{{Role: networkUser}},
		Fix: fmt.Sprintf("ask an administrator of project %s to run `gcloud compute networks subnets add-iam-policy-binding %s --project %s --region %s --member %s --role %s`",
			host, subnetwork, host, c.Clients.Region, memberOf(account.Email()), networkUser),
	}
}

// explainDenied replaces the fix of a Denied error by the command for an administrator.
func (b *Binding) explainDenied(err error) error {
	e, ok := errors.AsType[*cloud.Error](err)
	if b.Fix == "" || !ok || e.Kind != cloud.Denied {
		return err
	}
	return &cloud.Error{Kind: cloud.Denied, Op: e.Op, Resource: b.Name, Fix: b.Fix, Err: e.Err}
}
