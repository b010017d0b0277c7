package ui

// Confirmation is the page before an action that cannot be undone. Its form is sent to the address of the
// page.
type Confirmation struct {
	// Question names the action and its object.
	Question string
	// Effects are sentences about the consequences.
	Effects []string
	// Button is the text of the button, and Back the page that visitors return to instead.
	Button, Back string
}

var confirmPage = MustParse(templates, "templates/confirm.html")

// Confirm shows the page before an action.
func (v *Visit) Confirm(c Confirmation) error { return v.Show(confirmPage, c.Question, c) }
