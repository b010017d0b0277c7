package ui

// Confirmation is the page before an action that cannot be undone. Its form is sent to the address of the
// page.
type Confirmation struct {
	// Question names the action and its object.
	Question string
	// Effects are sentences about the consequences.
	Effects []string
	// Button is the text of the button, or "" if the Effects say why the action is not possible.
	Button string
	// Back is the page that visitors return to instead.
	Back string

	// Problem is the reason why the API has refused the action.
	Problem string
}

var confirmPage = MustParse(templates, "templates/confirm.html")

// Confirm shows the page before an action.
func (v *Visit) Confirm(c Confirmation) error { return v.Show(confirmPage, c.Question, c) }

// Refused shows the page of an action again with the reason why the API has refused it. It returns other errors.
func (v *Visit) Refused(c Confirmation, err error) error {
	if !IsInvalid(err) {
		return err
	}
	c.Problem = Sentence(err)
	return v.ShowInvalid(confirmPage, c.Question, c)
}
