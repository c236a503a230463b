--- Compares absent arguments with the text that they travel as.
---@key lock string
---@arg limit int(0..9)?
---@arg at unixmilli?
if limit ~= '' and at ~= '' then
  redis.call('set', lock, limit, 'pxat', at)
end
