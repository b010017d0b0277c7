package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Noun is a kind of objects that have names.
type Noun string

// The nouns.
const (
	Tasks       Noun = "tasks" // commands, arrays, and with a dot in the text the tasks of trials
	Trials      Noun = "trials"
	Jobs        Noun = "jobs"
	Experiments Noun = "experiments"
	Checkpoints Noun = "checkpoints"
	Agents      Noun = "agents"
	Pools       Noun = "pools"
	Models      Noun = "models"
	Users       Noun = "users"
	Workspaces  Noun = "workspaces"
	Projects    Noun = "projects"
	Templates   Noun = "templates"
)

// names is the call that finds objects by what a person types.
type names struct{ *transport }

// Names returns at most limit objects whose ID or name begins with text, and whether there are more.
func (n names) Names(ctx context.Context, k Noun, text string, limit int) (list []*apiv1.Name, more bool, err error) {
	out := &apiv1.GetNamesResponse{}
	err = n.do(ctx, call{
		op: "look up " + strconv.Quote(text) + " in the " + string(k), method: http.MethodGet, path: "/api/v1/names/" + url.PathEscape(string(k)),
		query: url.Values{"text": {text}, "limit": {strconv.Itoa(limit)}}, out: out,
	})
	return out.GetNames(), out.GetMore(), err
}
