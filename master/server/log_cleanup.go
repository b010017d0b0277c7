package server

import apiv1 "github.com/det-deploy/det-deploy/master/api/v1"

// cleanupCalls serves the call that deletes expired logs.
type cleanupCalls struct{ *shared }

func (l *cleanupCalls) routes() []route {
	if l.cfg.CleanUpLogs == nil {
		return nil
	}
	return []route{auditedRoute("logs.cleanup", postRoute("cleanup_logs", admin, plainCall(l.cleanUp)))}
}

func (l *cleanupCalls) cleanUp(c *call) (*apiv1.CleanupLogsResponse, error) {
	lines, err := l.cfg.CleanUpLogs(c.Context())
	return &apiv1.CleanupLogsResponse{RemovedCount: lines}, err
}
