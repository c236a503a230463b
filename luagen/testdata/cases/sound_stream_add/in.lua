--- Adds an event to a stream that is kept short, unless its id was seen.
---@key events stream
---@key seen string
---@arg payload bytes
---@return string? id
if not redis.call('set', seen, '1', 'EX', 3600, 'NX') then
  return nil
end
return redis.call('xadd', events, 'maxlen', '~', 1000, '*', 'payload', payload)
