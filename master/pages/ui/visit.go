package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Visit is one request for a page.
type Visit struct {
	*http.Request

	// API calls the master on behalf of the visitor.
	API *client.Client
	// User is the visitor. It is nil only at the login.
	User *apiv1.User
	// Now is the time of the request.
	Now time.Time

	w       http.ResponseWriter
	site    *Site
	session string
	// done is set if the request has been answered.
	done bool
	// rendering is the live block that this visit renders for others too.
	rendering *fragment
}

func (s *Site) visit(w http.ResponseWriter, r *http.Request) *Visit {
	v := &Visit{Request: r, Now: s.cfg.Now(), w: w, site: s, session: s.sessionOf(r)}
	v.API = s.client(r, v.session)
	return v
}

// Writer returns the response, for a page that streams. Its limits of time are removed: that of reading would
// end the request, too.
func (v *Visit) Writer() http.ResponseWriter {
	v.release()
	limits := http.NewResponseController(v.w)
	_ = limits.SetWriteDeadline(time.Time{}) // not supported by recorders in tests
	_ = limits.SetReadDeadline(time.Time{})
	return v.w
}

// IsLive reports whether a script asks for the block "live" of the page.
func (v *Visit) IsLive() bool { return v.Header.Get("HX-Request") == "true" }

// Show writes the page with the title; data is .Data in its template. A script that refreshes the block
// "live" is sent only that, and nothing while it is unchanged.
func (v *Visit) Show(t *Template, title string, data any) error {
	return v.show(http.StatusOK, t, title, data)
}

// ShowInvalid shows a form again whose values are not valid.
func (v *Visit) ShowInvalid(t *Template, title string, data any) error {
	return v.show(http.StatusUnprocessableEntity, t, title, data)
}

func (v *Visit) show(status int, t *Template, title string, data any) error {
	f := v.frame(title, data)
	block := "layout"
	if v.IsLive() && t.has("live") {
		block = "live"
	}
	var b bytes.Buffer
	if err := t.execute(&b, block, f); err != nil {
		return err
	}
	if block == "live" {
		v.keep(b.Bytes())
		v.sendLive(b.Bytes())
		return nil
	}
	v.release()
	v.setHTML()
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // the visitor may have left
	return nil
}

func (v *Visit) setHTML() {
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "HX-Request")
}

// sendLive writes a live block, and nothing while it is unchanged.
func (v *Visit) sendLive(body []byte) {
	v.setHTML()
	if v.isUnchanged(body) {
		v.w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = v.w.Write(body) // the visitor may have left
}

// isUnchanged sets the ETag of a response and reports whether the browser has it.
func (v *Visit) isUnchanged(body []byte) bool {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	v.w.Header().Set("ETag", tag)
	return v.Header.Get("If-None-Match") == tag
}

// JSON writes data for a script, and nothing while it is unchanged.
func (v *Visit) JSON(data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	if v.isUnchanged(b) {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = v.w.Write(b) // the visitor may have left
	return nil
}

// SVG writes a drawing.
func (v *Visit) SVG(drawing template.HTML) error {
	v.w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = io.WriteString(v.w, string(drawing)) // the visitor may have left
	return nil
}

// Attach returns the response for a file that the browser saves under the name. Each part of it must arrive
// in the time for a page.
func (v *Visit) Attach(name, mediaType string) io.Writer {
	h := v.w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", attachment(name))
	return paced{v.Writer()}
}

// paced is a response that ends when the visitor does not take more of it.
type paced struct{ w http.ResponseWriter }

// partBytes is the size of the parts that must arrive in time.
const partBytes = 64 << 10

// Write implements io.Writer.
func (p paced) Write(b []byte) (done int, err error) {
	for n := 0; done < len(b) && err == nil; done += n {
		_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
		n, err = p.w.Write(b[done:min(len(b), done+partBytes)])
	}
	return done, err
}

// Redirect sends the visitor to another page, from a block that a script refreshes, too.
func (v *Visit) Redirect(to string) error {
	if v.IsLive() {
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusOK)
		return nil
	}
	v.w.Header().Set("Location", to)
	v.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Done sends the visitor to another page after an action, where the message is shown once.
func (v *Visit) Done(to, message string) error {
	v.setMessage(message)
	return v.Redirect(to)
}

// fail writes the page of an error.
func (v *Visit) fail(err error) {
	if e, ok := errors.AsType[*Refusal](err); ok {
		v.showError(e.Status, e.Message)
		return
	}
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case v.Context().Err() != nil: // the visitor has left
	case ok && e.Kind == client.Unauthenticated:
		v.setSession("")
		v.toLogin()
	case ok && statuses[e.Kind] != 0:
		v.showError(statuses[e.Kind], sentence(e))
	default:
		v.site.cfg.Log.Error("cannot show a page", "path", v.URL.Path, "err", err)
		v.showError(http.StatusInternalServerError, "The master could not show this page. Its log has the reason.")
	}
}

// statuses maps errors of the API to the status of their page.
var statuses = map[client.Kind]int{
	client.Invalid: http.StatusBadRequest, client.Forbidden: http.StatusForbidden, client.NotFound: http.StatusNotFound,
	client.Conflict: http.StatusConflict, client.TooMany: http.StatusTooManyRequests,
	client.Unbuilt: http.StatusNotImplemented, client.Unavailable: http.StatusServiceUnavailable,
}

// Refusal is an error with its page: a status and a sentence for the visitor.
type Refusal struct {
	Status  int
	Message string
}

// Error returns the sentence.
func (r *Refusal) Error() string { return r.Message }

// IsInvalid reports whether an error of the API is about the values of a form, which is shown again.
func IsInvalid(err error) bool {
	kind := client.KindOf(err)
	return kind == client.Invalid || kind == client.Conflict || kind == client.Forbidden
}

// Sentence returns the message of an error of the API for people, or "" for another error.
func Sentence(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return sentence(e)
	}
	return ""
}

func sentence(e *client.Error) string {
	text := e.Message
	if text == "" {
		text = e.Error()
	}
	if text = strings.TrimRight(text, "."); text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// showError shows the page of an error. A page that a script refreshes stays as it is.
func (v *Visit) showError(status int, message string) {
	data := struct {
		Status        int
		Text, Message string
	}{status, http.StatusText(status), message}
	if err := v.show(status, errorPage, http.StatusText(status), data); err != nil {
		v.site.cfg.Log.Error("cannot show the page of an error", "path", v.URL.Path, "err", err)
	}
}
