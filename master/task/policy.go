package task

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// policies are the rules for the tasks of a user.
type policies struct{ *shared }

// policyOf returns the present policy for a user's tasks in a pool: the tasks of a former administrator
// are those of an ordinary user.
func (p *policies) policyOf(userID int32, pool string) policy.Policy {
	if p.cfg.Tokens.Administrator(userID) {
		return policy.Policy{Free: true}
	}
	return p.cfg.Policy(pool)
}

// requestOf returns the request for the resource manager, with the present policy.
func (p *policies) requestOf(task lifecycle.Task, a lifecycle.Allocation) rm.Request {
	r, k := task.Request(a), kindOf(task.Kind)
	r.Job, r.JobType, r.SingleNode = k.job(task), k.jobType, k.singleNode || task.SingleNode
	for _, port := range k.ports {
		r.Ports = append(r.Ports, port.Base)
	}
	r.Trusted, r.FixedPaths = p.cfg.Tokens.Administrator(task.UserID), k.fixedPaths
	r.Workspace = p.cfg.WorkspaceName(task.Workspace)
	r.Policy = p.policyOf(task.UserID, task.Pool).API()
	return r
}

// capDefault limits a default to the permitted maximum; 0 is unlimited.
func capDefault(given document.Bytes, most int64) document.Bytes {
	if most == 0 {
		return given
	}
	return min(given, document.Bytes(most))
}
