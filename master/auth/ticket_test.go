package auth

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

func TestTicketsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.must(t, "determined", first)
	ticket, err := w.IssueTicket(session, "t1:8080", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := w.VisitorOf(ticket, "t1:8080"); err != nil || u.GetUsername() != "determined" {
		t.Errorf("got %v and %v, want the user of the session", u, err)
	}
	_, err = w.VisitorOf(ticket, "t2:8080")
	wantCode(t, err, status.Unauthenticated)
	long, err := w.ExtendTicket(ticket, "t1:8080", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(2 * time.Minute)
	_, err = w.VisitorOf(ticket, "t1:8080")
	wantCode(t, err, status.Unauthenticated)
	if _, err := w.ExtendTicket(ticket, "t1:8080", time.Hour); err == nil {
		t.Error("a ticket that has ended is extended")
	}
	if _, err := w.VisitorOf(long, "t1:8080"); err != nil {
		t.Errorf("got %v, want the extended ticket to be valid", err)
	}
	if err := w.Logout(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	_, err = w.VisitorOf(long, "t1:8080")
	wantCode(t, err, status.Unauthenticated)
	_, err = w.IssueTicket(session, "t1:8080", time.Minute)
	wantCode(t, err, status.Unauthenticated)
}

func TestTokensInsideTasksGetNoTickets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, user, err := w.TaskTokens(t.Context(), 2, "t.1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.IssueTicket(string(user), "t1", time.Minute)
	wantCode(t, err, status.PermissionDenied)
	if _, err := w.VisitorOf(token.Text("x"), "t1"); err == nil {
		t.Error("any text is a ticket")
	}
}
