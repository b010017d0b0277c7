package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// AuditQuery selects entries of the audit log.
type AuditQuery struct {
	User, Action string
	Since        time.Time
	// Follow waits for new entries until the context ends.
	Follow bool
	// Newest reads the newest entries first, from the one before the entry Before on if that is not empty.
	// It cannot be combined with Follow.
	Newest bool
	Before string
	// Limit is the maximum number of entries; 0 means no limit.
	Limit int
}

// Audit reads the audit log, oldest entry first unless q selects another order. It requires an administrator.
func (l logs) Audit(ctx context.Context, q AuditQuery) iter.Seq2[*apiv1.AuditResponse, error] {
	query := url.Values{"follow": {strconv.FormatBool(q.Follow)}}
	if q.User != "" {
		query.Set("user", q.User)
	}
	if q.Action != "" {
		query.Set("action", q.Action)
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Newest {
		query.Set("orderBy", "ORDER_BY_DESC")
	}
	if q.Before != "" {
		query.Set("beforeId", q.Before)
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	s := &stream[*apiv1.AuditResponse]{
		client: l.transport,
		call:   call{op: "read the audit log", method: http.MethodGet, path: "/api/v1/audit", query: query},
		fresh:  func() *apiv1.AuditResponse { return &apiv1.AuditResponse{} },
		id:     func(m *apiv1.AuditResponse) string { return m.GetEntry().GetId() },
	}
	return s.lines(ctx, q.Follow)
}
