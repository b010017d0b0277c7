package store

// Queued returns the number of writes that wait for the writer.
func (s *Store) Queued() int { return len(s.queue) }
