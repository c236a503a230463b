for i = 1, #ARGV do
  if redis.call('EXISTS', ARGV[i] .. ':deleted') == 1 then
    return redis.error_reply('GONE an account is deleted')
  end
end
return redis.call('INCRBY', KEYS[1], #ARGV)
