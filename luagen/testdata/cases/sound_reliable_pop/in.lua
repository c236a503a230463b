--- Takes an item from a queue into the list of a worker.
---@key queue list
---@key working list
---@return bytes? item
return redis.call('lmove', queue, working, 'left', 'right') or nil
