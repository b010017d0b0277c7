package store

// Queued is how many writes wait for the writer.
func (s *Store) Queued() int { return len(s.queue) }

// LimitBlocks has blocks of so many rows.
func (s *Store) LimitBlocks(rows int) {
	s.blocks.mu.Lock()
	defer s.blocks.mu.Unlock()
	s.blocks.rows = rows
}

// Blocks is how many rows the blocks have, of each order and groups, none of those that are not counted yet; split says that none is to be split.
func (s *Store) Blocks() (sizes map[string][]int, split bool) {
	s.blocks.mu.Lock()
	defer s.blocks.mu.Unlock()
	sizes, split = map[string][]int{}, !s.blocks.splitting
	for name, set := range s.blocks.sets {
		sizes[name] = []int{} // not counted yet
		for _, b := range set.list {
			sizes[name] = append(sizes[name], b.rows)
		}
	}
	return sizes, split
}
