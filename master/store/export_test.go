package store

// Queued is how many writes wait for the writer.
func (s *Store) Queued() int { return len(s.queue) }
