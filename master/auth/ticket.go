package auth

import (
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/token"
)

// tickets are permissions to visit services of tasks. They are not stored: each names the session on whose
// behalf it was issued, and ends with it.
type tickets struct {
	*shared

	logins *tokens
	keys   *signingKeys
}

// IssueTicket returns a ticket for a service, valid for the given time while the session with the token
// text is. It returns an error of code Unauthenticated for an invalid token, and PermissionDenied for a
// token inside a task.
func (t *tickets) IssueTicket(text, service string, life time.Duration) (token.Text, error) {
	_, inTask, err := t.logins.UserOf(text)
	if err != nil {
		return "", err
	}
	if inTask != "" {
		return "", status.New(status.PermissionDenied, "the token inside a task gives no access to services; log in outside of the task")
	}
	return t.keys.currentKey().SignTicket(token.Ticket{
		Cluster: t.cluster, Service: service, Session: token.HashOf(token.Text(text)), Expires: t.cfg.Now().Add(life),
	})
}

// ExtendTicket returns a ticket like a valid one, for the given time from now. The errors are those of
// VisitorOf.
func (t *tickets) ExtendTicket(ticket token.Text, service string, life time.Duration) (token.Text, error) {
	known, err := t.readTicket(ticket, service)
	if err != nil {
		return "", err
	}
	known.Expires = t.cfg.Now().Add(life)
	return t.keys.currentKey().SignTicket(known)
}

// VisitorOf returns the user on whose behalf a ticket for a service was issued. It returns an error of code
// Unauthenticated if the ticket is not valid or its session has ended.
func (t *tickets) VisitorOf(ticket token.Text, service string) (*apiv1.User, error) {
	known, err := t.readTicket(ticket, service)
	if err != nil {
		return nil, err
	}
	u, _, err := t.logins.userOfHash(known.Session)
	return u, err
}

func (t *tickets) readTicket(ticket token.Text, service string) (token.Ticket, error) {
	known, err := t.keys.currentKey().ReadTicket(ticket, t.cluster, service, t.cfg.Now())
	if err != nil {
		return known, errToken()
	}
	return known, nil
}
