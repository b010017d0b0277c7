package experiment

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// moving is the data of the page that moves an experiment.
type moving struct {
	head

	X *apiv1.Experiment
	// Places are the other projects by workspace, unless there are too many to choose from.
	Places  []place
	TooMany bool
}

// place is a workspace with its projects.
type place struct {
	Workspace string
	Projects  []*apiv1.Project
}

// mostProjects is the number of projects that are offered; beyond it, the ID is typed.
const mostProjects = 500

func serveMove(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	names, err := v.API.WorkspaceNames(v.Context())
	if err != nil {
		return err
	}
	projects, err := v.API.Projects(v.Context(), 0, false)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	m := moving{head: newHead(reply, "none"), X: x, TooMany: len(projects) > mostProjects}
	if !m.TooMany {
		m.Places = placesOf(projects, names, x.GetProjectId())
	}
	return v.Show(movePage, fmt.Sprintf("Move experiment %d", x.GetId()), m)
}

// placesOf groups projects by workspace, without the current one.
func placesOf(projects []*apiv1.Project, names map[int32]string, current int32) []place {
	var all []place
	for _, p := range projects {
		if p.GetId() == current {
			continue
		}
		name := names[p.GetWorkspaceId()]
		i := slices.IndexFunc(all, func(in place) bool { return in.Workspace == name })
		if i < 0 {
			i = len(all)
			all = append(all, place{Workspace: name})
		}
		all[i].Projects = append(all[i].Projects, p)
	}
	return all
}

func doMove(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	project, err := strconv.ParseInt(v.PostFormValue("project"), 10, 32)
	if err != nil {
		return &ui.Refusal{Status: http.StatusBadRequest, Message: "Choose the project to which the experiment moves."}
	}
	if err := v.API.MoveExperiment(v.Context(), id, int32(project)); err != nil {
		return err
	}
	return v.Done(address(id), "The experiment was moved.")
}
