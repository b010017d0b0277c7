package ui

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/det-deploy/det-deploy/master/api/client"
)

const (
	// messageCookie has the message that the next page shows.
	messageCookie = "det_message"
	// csrfField is the field of the CSRF token in forms.
	csrfField = "csrf"

	loginPath = Root + "login"
)

// sessionOf returns the session of a request, or "". The API does not accept its cookie, and the proxy of services
// removes all cookies that begin with "det_". Two cookies of the name mean that another site has planted one.
func (s *Site) sessionOf(r *http.Request) string {
	cookies := r.CookiesNamed(s.cfg.SessionCookie(r.Host))
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

// setCookie sets a cookie that scripts cannot read and that browsers send only from pages of this site. It
// is removed if value is "".
func (v *Visit) setCookie(name, value string) {
	c := &http.Cookie{
		Name: name, Value: value, Path: Root, HttpOnly: true, Secure: v.site.cfg.Secure, SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

// setSession sets the cookie of the session, and removes it if token is "".
func (v *Visit) setSession(token string) { v.setCookie(v.site.cfg.SessionCookie(v.Host), token) }

// messageLimit is the length of a message in its cookie.
const messageLimit = 1 << 10

func (v *Visit) setMessage(text string) {
	v.setCookie(messageCookie, base64.RawURLEncoding.EncodeToString([]byte(firstBytes(text, messageLimit))))
}

// takeMessage returns the message of the previous page and removes it.
func (v *Visit) takeMessage() string {
	c, err := v.Cookie(messageCookie)
	if err != nil || v.IsLive() {
		return ""
	}
	v.setCookie(messageCookie, "")
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > messageLimit {
		return ""
	}
	return Plain(string(text))
}

// admit checks the session of the visitor and, unless the request only reads, the form's CSRF token.
func (v *Visit) admit(p Page) error {
	if isReading(v.Request) && v.session == "" && v.comesFromElsewhere() {
		return v.reload()
	}
	if err := v.checkOrigin(); err != nil {
		return err
	}
	if p.open {
		return nil
	}
	if v.session == "" {
		v.toLogin()
		return nil
	}
	u, err := v.API.Me(v.Context())
	if err != nil {
		return err
	}
	v.User = u
	if p.Admin && !u.GetAdmin() {
		return &Refusal{http.StatusForbidden, "Only administrators may open this page."}
	}
	return v.checkForm()
}

// findUser sets the user if the visitor has a session.
func (v *Visit) findUser() {
	if v.session == "" {
		return
	}
	if u, err := v.API.Me(v.Context()); err == nil {
		v.User = u
	}
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// comesFromElsewhere reports whether another site has a link to the page. Browsers do not send the cookie
// of the session then.
func (v *Visit) comesFromElsewhere() bool {
	return v.Header.Get("Sec-Fetch-Site") == "cross-site" && v.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// reload makes the browser open the address again, with the cookie of the session.
func (v *Visit) reload() error {
	v.done = true
	return v.Show(reloadPage, "Opening", nil)
}

// isOpened reports whether the browser opens the page, and no script reads it. Browsers send the header to
// addresses with TLS, and to this machine.
func (v *Visit) isOpened() bool {
	to := v.Header.Get("Sec-Fetch-Dest")
	return !v.IsLive() && (to == "" || to == "document")
}

// checkOrigin returns an error for a form of another site.
func (v *Visit) checkOrigin() error {
	if http.NewCrossOriginProtection().Check(v.Request) != nil {
		return &Refusal{http.StatusForbidden, "Forms of other sites are not accepted."}
	}
	return nil
}

// checkForm reads the form of a request that may change something and checks its CSRF token.
func (v *Visit) checkForm() error {
	if isReading(v.Request) {
		return nil
	}
	if err := v.readForm(formLimit); err != nil {
		return err
	}
	want := v.site.cfg.CSRFToken(v.session)
	if subtle.ConstantTimeCompare([]byte(v.PostForm.Get(csrfField)), []byte(want)) != 1 {
		return &Refusal{http.StatusForbidden, "This form belongs to an earlier login. Go back, reload the page, and send it again."}
	}
	return nil
}

func (v *Visit) readForm(limit int64) error {
	v.Body = http.MaxBytesReader(v.w, v.Body, limit)
	err := v.ParseForm()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Refusal{http.StatusRequestEntityTooLarge, "The form is too large."}
	}
	if err != nil {
		return &Refusal{http.StatusBadRequest, "The form cannot be read."}
	}
	for _, values := range v.PostForm {
		if !utf8.ValidString(strings.Join(values, "")) {
			return &Refusal{http.StatusBadRequest, "The form has characters that are not text."}
		}
	}
	return nil
}

// toLogin sends the visitor to the login, which continues at this address.
func (v *Visit) toLogin() {
	v.done = true
	if v.IsLive() {
		v.w.Header().Set("HX-Refresh", "true")
		v.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	to := loginPath
	if isReading(v.Request) && v.URL.Path != Root {
		to += "?" + url.Values{"redirect": {v.URL.RequestURI()}}.Encode()
	}
	_ = v.Redirect(to) // it returns no error
}

// sessionPages returns the pages of login and logout.
func (s *Site) sessionPages() []Page {
	return []Page{
		{Pattern: "GET " + loginPath, Serve: showLogin, open: true},
		{Pattern: "POST " + loginPath, Serve: logIn, open: true},
		{Pattern: "POST " + Root + "logout", Serve: logOut},
	}
}

// loginData is shown by the login.
type loginData struct{ Username, Redirect, Problem string }

func showLogin(v *Visit) error {
	to := OwnPath(v.URL.Query().Get("redirect"))
	v.findUser()
	if v.User != nil {
		return v.Redirect(to)
	}
	return v.Show(loginPage, "Log in", loginData{Redirect: to})
}

// loginLimit is the size of the form of a login, whose visitor is unknown: a password in the encoding of
// forms, and a redirect.
const loginLimit = 32 << 10

func logIn(v *Visit) error {
	if err := v.readForm(loginLimit); err != nil {
		return err
	}
	to, name := OwnPath(v.PostForm.Get("redirect")), v.PostForm.Get("username")
	out, err := v.API.Login(v.Context(), name, v.PostForm.Get("password"))
	if e, ok := errors.AsType[*client.Error](err); ok && e.Message != "" {
		status := http.StatusUnauthorized
		if e.Kind != client.Unauthenticated && e.Kind != client.NotFound {
			status = statuses[e.Kind]
		}
		return v.show(max(status, http.StatusBadRequest), loginPage, "Log in", loginData{Username: name, Redirect: to, Problem: sentence(e)})
	}
	if err != nil {
		return err
	}
	v.setSession(out.GetToken())
	return v.Redirect(to)
}

func logOut(v *Visit) error {
	if err := v.API.Logout(v.Context()); err != nil {
		return err
	}
	v.setSession("")
	return v.Redirect(loginPath)
}

// OwnPath returns the address to continue at, or Root unless it is a path of this site.
func OwnPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n\t") || strings.HasPrefix(u.Path, "//") {
		return Root
	}
	return text
}
