package experiment

import (
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// removal is the data of the page that deletes an experiment.
type removal struct {
	head

	X *apiv1.Experiment
	// Ended is set if the experiment can be deleted.
	Ended bool
}

func serveDelete(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	return v.Show(deletePage, fmt.Sprintf("Delete experiment %d", x.GetId()), removal{head: newHead(reply, "none"), X: x, Ended: x.GetEndTime() != nil})
}

func doDelete(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	if v.PostFormValue("keep") == "" {
		if err := v.API.DeleteExperiment(v.Context(), id); err != nil {
			return err
		}
		return v.Done("/det/experiments", fmt.Sprintf("Experiment %d is being deleted with its checkpoints.", id))
	}
	if _, err := v.API.DeleteExperimentRecords(v.Context(), id); err != nil {
		return err
	}
	return v.Done("/det/experiments", fmt.Sprintf("Experiment %d is deleted. Its files stay in the storage.", id))
}
