// Package client has the commands that only talk to a master. What they reach is a fifth of
// the program: nothing of a cloud, Helm, Kubernetes or a database.
package client

import (
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/audit"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/checkpoint"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/context"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/job"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/login"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/model"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/pool"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/resources"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/task"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/top"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/trial"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/user"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd/version"
	"github.com/det-deploy/det-deploy/cmd/internal/tree"
)

// Nouns are the commands that only talk to a master.
func Nouns() []tree.Noun {
	return []tree.Noun{
		{Name: "login", Group: tree.Use, Make: login.New},
		{Name: "logout", Group: tree.Use, Make: login.NewLogout},
		{Name: "context", Group: tree.Use, Make: context.New},
		{Name: "task", Group: tree.Use, Make: task.New},
		{Name: "trial", Group: tree.Use, Make: trial.New},
		{Name: "checkpoint", Group: tree.Use, Make: checkpoint.New},
		{Name: "model", Group: tree.Use, Make: model.New},
		{Name: "job", Group: tree.Use, Make: job.New},
		{Name: "pool", Group: tree.Use, Make: pool.New},
		{Name: "resources", Group: tree.Use, Make: resources.New},
		{Name: "top", Group: tree.Use, Make: top.New},
		{Name: "user", Group: tree.Use, Make: user.New},
		{Name: "audit", Group: tree.Use, Make: audit.New},
		{Name: "version", Make: version.New},
	}
}
