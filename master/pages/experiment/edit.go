package experiment

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/wrapperspb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// edit is the data of the page that changes the texts of an experiment.
type edit struct {
	head
	texts

	// Problem is the error in the texts.
	Problem string
}

// texts are the fields of the form. Labels has one in a line.
type texts struct{ Title, Description, Labels, Notes string }

// textsOf returns the texts of an experiment as the form has them: without characters that control the display.
func textsOf(x *apiv1.Experiment) texts {
	return texts{
		Title: ui.Plain(x.GetName()), Description: ui.PlainLines(x.GetDescription()),
		Labels: ui.PlainLines(strings.Join(x.GetLabels(), "\n")), Notes: ui.PlainLines(x.GetNotes()),
	}
}

// patch returns the change from other texts. A text that is the same in the form stays as it is.
func (t texts) patch(id int32, from texts) *apiv1.PatchExperiment {
	changed := func(to, from string) *wrapperspb.StringValue {
		if to == from {
			return nil
		}
		return wrapperspb.String(to)
	}
	p := &apiv1.PatchExperiment{
		Id: id, Name: changed(t.Title, from.Title), Description: changed(t.Description, from.Description), Notes: changed(t.Notes, from.Notes),
	}
	if t.Labels != from.Labels {
		p.Labels = ui.Labels(t.Labels)
	}
	return p
}

func serveEdit(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	return v.Show(editPage, fmt.Sprintf("Edit experiment %d", x.GetId()), edit{head: newHead(reply, "none"), texts: textsOf(x)})
}

func doEdit(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	to := texts{Title: v.Field("name"), Description: v.Lines("description"), Labels: v.Lines("labels"), Notes: v.Lines("notes")}
	_, err = v.API.PatchExperiment(v.Context(), to.patch(x.GetId(), textsOf(x)))
	if ui.IsInvalid(err) {
		return v.ShowInvalid(editPage, fmt.Sprintf("Edit experiment %d", x.GetId()), edit{head: newHead(reply, "none"), texts: to, Problem: ui.Sentence(err)})
	}
	if err != nil {
		return err
	}
	return v.Done(address(x.GetId()), "The experiment was changed.")
}
