package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// cookieName is part of the API contract.
const cookieName = "auth"

// taskHeader carries the token of an allocation.
const taskHeader = "Grpc-Metadata-X-Allocation-Token"

// csrfHeader carries the proof that a request with the cookie comes from a page of the master.
const csrfHeader = "X-Csrf-Token"

// CSRFToken returns the token that the pages of a login send together with its cookie. Pages of other sites,
// and those that programs in tasks serve, cannot read it. It does not reveal the login's own token.
func CSRFToken(session string) string {
	sum := sha256.Sum256([]byte("csrf token of " + session))
	return hex.EncodeToString(sum[:])
}

// gatekeeper authenticates and authorizes callers, rejects the others, and records calls in the audit log.
type gatekeeper struct{ *shared }

// identifyCaller authenticates the caller and checks its access.
func (g *gatekeeper) identifyCaller(c *call, r route) error {
	need := r.access
	switch need {
	case open:
		return nil
	case user, login, person, admin, allocation, either:
	default: // a route without access admits no caller
		return status.New(status.PermissionDenied, "no caller may make this request")
	}
	text, fromCookie := g.userToken(c.Request)
	if fromCookie {
		if err := checkCookie(c.Request, text, r); err != nil {
			return err
		}
	}
	if text != "" && need != allocation {
		return g.identifyUser(c, text, need)
	}
	task, found := bearer(c.Header.Get(taskHeader))
	switch {
	case !found && text != "":
		return status.New(status.PermissionDenied, "only the allocation itself may make this request, with its own token")
	case !found:
		return status.New(status.Unauthenticated, "missing token; log in first")
	}
	u, id, err := g.cfg.Accounts.AllocationOf(task)
	if err != nil {
		return err
	}
	if need != allocation && need != either {
		return status.New(status.PermissionDenied, "this request requires the token in DET_USER_TOKEN instead of the allocation's token")
	}
	if need == allocation && c.PathValue("allocation") != id {
		return status.New(status.PermissionDenied, "this token is for another allocation")
	}
	c.user, c.allocation, c.token = u, id, task
	return nil
}

func (g *gatekeeper) identifyUser(c *call, text string, need access) error {
	u, inTask, err := g.cfg.Accounts.UserOf(text)
	if err != nil {
		return err
	}
	c.user, c.token, c.inTask = u, text, inTask
	switch {
	case inTask != "" && (need == login || need == person || need == admin):
		return status.New(status.PermissionDenied,
			"the token inside a task gives access only to tasks and their logs; log in outside of the task for other requests")
	case need == admin && !u.GetAdmin():
		return status.New(status.PermissionDenied, "only administrators may do this")
	}
	return nil
}

// isFromOtherSite reports whether a browser sent r for a page of another site. Browsers send the cookie
// with such requests, but only pages of this site may use it, even if the configuration allows the other
// site to call with a token.
func isFromOtherSite(r *http.Request) bool {
	strict := *r
	strict.Method = http.MethodPost // the check would accept GET from all sites
	return http.NewCrossOriginProtection().Check(&strict) != nil
}

// checkCookie returns an error unless a page of the master sent r with the cookie of a login. Only the pages
// know its CSRF token. Without it, the cookie opens the files at the addresses that browsers of Determined
// 0.38.1 visit.
func checkCookie(r *http.Request, session string, to route) error {
	if isFromOtherSite(r) {
		return status.New(status.PermissionDenied, "requests from other sites are not allowed")
	}
	if to.access == person {
		return status.New(status.PermissionDenied, "this request requires the token in the Authorization header; a cookie is not sufficient")
	}
	if to.isVisited() && opensPage(r) || subtle.ConstantTimeCompare([]byte(r.Header.Get(csrfHeader)), []byte(CSRFToken(session))) == 1 {
		return nil
	}
	return status.New(status.PermissionDenied, "a cookie alone is not accepted; send the token as Authorization: Bearer")
}

// opensPage reports whether a browser opens the address of r, and no script reads the response.
func opensPage(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode == "" || mode == "navigate"
}

// userToken returns the token of a user. A cookie is ignored at the host names of services, and if there are
// two of that name, because a page has planted one.
func (g *gatekeeper) userToken(r *http.Request) (text string, fromCookie bool) {
	if text, found := bearer(r.Header.Get("Authorization")); found {
		return text, false
	}
	cookies := r.CookiesNamed(cookieName)
	if len(cookies) != 1 || g.cfg.Services != nil && g.cfg.Services.IsServiceHost(r.Host) {
		return "", false
	}
	return cookies[0].Value, true
}

func bearer(header string) (string, bool) {
	scheme, text, found := strings.Cut(header, " ")
	text = strings.TrimSpace(text)
	return text, found && strings.EqualFold(scheme, "Bearer") && text != ""
}

// taskOf returns the task of an allocation with the ID "<task>.<n>".
func taskOf(allocation string) string {
	if i := strings.LastIndexByte(allocation, '.'); i >= 0 {
		return allocation[:i]
	}
	return allocation
}

// ownTask returns an error if the caller is a task and task is another one. Users may read all tasks.
func (c *call) ownTask(task string) error {
	if c.allocation != "" && taskOf(c.allocation) != task {
		return status.New(status.PermissionDenied, "this token is for another task")
	}
	return nil
}

// ownerKey returns the key by which the calls of a caller are counted.
func (c *call) ownerKey() string {
	if c.allocation != "" {
		return "allocation " + c.allocation
	}
	return fmt.Sprintf("user %d", c.user.GetId())
}
